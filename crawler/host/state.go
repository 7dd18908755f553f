package host

import (
	"encoding/binary"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
)

// State is the state of a host from turn to turn, without its robots state. The frontier keeps it as
// frontier.HostUpdate.Memory. The zero value is an unknown host.
type State struct {
	times   [5]time.Duration // the last response times, or zero
	heard   uint64           // response times so far
	LastEnd int64            // the end of the last exchange, microseconds of the crawl's steady clock; 0: never

	Failures  uint64 // of the host, in a row (politeness rule 12)
	Throttles uint64 // 429 and 503 in a row (rule 11)
	Refusals  uint64 // 401, 402, 403, 407, 451 in a row (rule 13)
	Pages     uint64 // 2xx HTML responses
	Forbidden bool   // robots.txt returned 403
	Sitemaps  uint64 // exchanges for sitemaps; stored in one number with Forbidden, which is its lowest bit

	Run     uint64 // the run of the next two
	Parks   uint64 // back-offs of LongestRest after FailuresToPark failures
	Unknown uint64 // NXDOMAIN and Signal.Brief, without a response in between

	PageFailed  bool   // a page is among the failures or throttles in a row
	Spaced      uint64 // microseconds between exchanges by RateLimit (rule 14)
	SpacedUntil int64  // the end of Spaced, on the clock of LastEnd
	Proved      bool   // the last request found the proof of rule 18
	ProvedAt    int64  // when, microseconds of the wall clock; 0: never

	Due    Pace         // after the last exchange, in whole microseconds
	Source Source       // the archived robots policy
	Spot   netip.Prefix // the network of the last exchange's address; may be invalid
	Lost   bool         // after a kill since LastEnd there may have been an unknown exchange

	Hearsay Hearsay // of its robots.txt, read for another host

	History []byte // of package trap (rule 22), at most MaxHistory bytes
}

// MaxHistory leaves room for the rest of a State.
const MaxHistory = frontier.MaxMemory - 320

var (
	errDamaged = errors.New("host: its stored state is damaged")
	errVersion = errors.New("host: its stored state is from another version of the program")
)

// Begin forgets the counts of an earlier run. It moves times after now, so that a wall clock set back between runs does not make
// a host wait.
func (n *State) Begin(run uint64, now int64) {
	if n.Run != run {
		n.Run, n.Parks, n.Unknown = run, 0, 0
		if !n.PageFailed {
			// An outage of robots.txt may last: it has its own schedule (rule 6), and must not refuse the host for good.
			n.Throttles = 0
		}
	}
	// A refused host has a turn only after the operator opens it.
	if n.Refusals >= noToRefuse {
		n.Refusals = 0
	}
	if n.Throttles >= noToRefuse {
		n.Throttles = 0
	}
	if n.LastEnd > now {
		n.SpacedUntil -= n.LastEnd - now
		n.LastEnd, n.Due = now, Pace{}
	}
	n.SpacedUntil = min(n.SpacedUntil, now+LongestAfter.Microseconds())
}

func (n *State) Hear(d time.Duration) {
	if d <= 0 {
		return
	}
	n.times[n.heard%uint64(len(n.times))] = d
	n.heard++
}

// Times returns the last response times in any order.
func (n *State) Times() []time.Duration { return n.times[:min(n.heard, uint64(len(n.times)))] }

// Response returns the median of the last response times, or zero. Of an even number it is the larger of the middle two.
func (n *State) Response() time.Duration {
	k := int(min(n.heard, uint64(len(n.times))))
	if k == 0 {
		return 0
	}
	s := n.times
	slices.Sort(s[:k])
	return s[k/2]
}

// WithRowsOf returns n with the rows of o.
func (n State) WithRowsOf(o State) State {
	n.Failures, n.Throttles, n.Parks, n.Unknown, n.PageFailed = o.Failures, o.Throttles, o.Parks, o.Unknown, o.PageFailed
	return n
}

// Hearsay is the delay of a host's robots.txt that was read for another host, which redirects to it. It holds until the host's
// own policy is known (politeness rule 7).
type Hearsay struct {
	Pace        // in whole microseconds
	Until int64 // expiry, microseconds of the wall clock: a failure after it ends the delay
}

// Hear sets the delay of a text.
func (h *Hearsay) Hear(p Pace, until time.Time) {
	*h = Hearsay{}
	if p.Pause > 0 {
		p.Pause = (p.Pause + time.Microsecond - 1).Truncate(time.Microsecond)
		*h = Hearsay{p, until.UnixMicro()}
	}
}

// Fail records that robots.txt is unreachable.
func (h *Hearsay) Fail(now time.Time) {
	if now.UnixMicro() >= h.Until {
		h.Forget()
	}
}

// Forget ends the delay: the host's own policy is known.
func (h *Hearsay) Forget() { *h = Hearsay{} }

func (h Hearsay) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(h.Pause/time.Microsecond))
	b = append(b, paceNumber(h.By))
	return binary.AppendVarint(b, h.Until)
}

func (r *decoder) hearsay() Hearsay { return Hearsay{r.pace(), r.varint()} }

// version is the first byte of a State.
const version = 5

// Append encodes n after b.
func (n *State) Append(b []byte) []byte {
	b = append(b, version)
	for _, d := range n.times {
		b = binary.AppendUvarint(b, uint64(d/time.Microsecond))
	}
	b = binary.AppendVarint(b, n.LastEnd)
	const unused = 0
	for _, v := range []uint64{n.heard, n.Failures, n.Throttles, n.Refusals, n.Pages, n.Sitemaps<<1 | flag(n.Forbidden), n.Run, n.Parks, unused, n.Unknown,
		flag(n.PageFailed), n.Spaced, flag(n.Proved)} {
		b = binary.AppendUvarint(b, v)
	}
	b = binary.AppendVarint(b, n.SpacedUntil)
	b = binary.AppendVarint(b, n.ProvedAt)
	b = appendOctets(b, n.History)
	b = binary.AppendUvarint(b, uint64(n.Due.Pause/time.Microsecond))
	b = append(b, paceNumber(n.Due.By))
	b = n.Source.append(b)
	b = append(b, byte(flag(n.Lost)))
	b = appendSpot(b, n.Spot)
	return n.Hearsay.append(b)
}

func appendOctets(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Read decodes what Append wrote; empty input gives the zero State. The State refers to b.
func Read(b []byte) (State, error) {
	if len(b) == 0 {
		return State{}, nil
	}
	if b[0] != version {
		return State{}, errVersion
	}
	var n State
	r := decoder{b: b[1:]}
	for i := range n.times {
		n.times[i] = time.Duration(r.uvarint()) * time.Microsecond
	}
	n.LastEnd = r.varint()
	for _, p := range []*uint64{&n.heard, &n.Failures, &n.Throttles, &n.Refusals, &n.Pages} {
		*p = r.uvarint()
	}
	forbidden := r.uvarint()
	n.Forbidden, n.Sitemaps = forbidden&1 != 0, forbidden>>1
	var unused uint64
	for _, p := range []*uint64{&n.Run, &n.Parks, &unused, &n.Unknown} {
		*p = r.uvarint()
	}
	n.PageFailed, n.Spaced, n.Proved = r.uvarint() != 0, r.uvarint(), r.uvarint() != 0
	n.SpacedUntil, n.ProvedAt = r.varint(), r.varint()
	n.History = r.bytes()
	n.Due = r.pace()
	n.Source = r.source()
	n.Lost = r.uvarint() != 0
	n.Spot = r.spot()
	n.Hearsay = r.hearsay()
	if r.bad || len(r.b) > 0 {
		return State{}, errDamaged
	}
	return n, nil
}

// decoder takes numbers from b until one is missing.
type decoder struct {
	b   []byte
	bad bool
}

func (r *decoder) uvarint() uint64 {
	v, w := binary.Uvarint(r.b)
	r.skip(w)
	return v
}

func (r *decoder) varint() int64 {
	v, w := binary.Varint(r.b)
	r.skip(w)
	return v
}

// bytes returns a length-prefixed byte string, a part of b; nil for the empty one.
func (r *decoder) bytes() []byte {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	s := r.b[:n:n]
	r.b = r.b[n:]
	if n == 0 {
		return nil
	}
	return s
}

func (r *decoder) skip(w int) {
	if w <= 0 {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[w:]
}

func flag(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}

// appendSpot writes an IPv4 address, or the first half of an IPv6 address.
func appendSpot(b []byte, spot netip.Prefix) []byte {
	if !spot.IsValid() {
		return append(b, 0)
	}
	if addr := spot.Addr(); addr.Is4() {
		a := addr.As4()
		return appendOctets(b, a[:])
	}
	a := spot.Addr().As16()
	return appendOctets(b, a[:8])
}

func (r *decoder) spot() netip.Prefix {
	var a [16]byte
	switch b := r.bytes(); {
	case len(b) == 4:
		return netip.PrefixFrom(netip.AddrFrom4([4]byte(b)), 32)
	case len(b) == 8:
		copy(a[:], b)
		return netip.PrefixFrom(netip.AddrFrom16(a), 64)
	case len(b) > 0:
		r.bad = true
	}
	return netip.Prefix{}
}

// Source is the archived robots policy of a host. The zero value is unknown.
type Source struct {
	Record string // id of the record of the last exchange that confirmed the policy
	Body   string // id of the record with the file, which later 304s lack
	BodyAt int64  // its date, microseconds of the wall clock
}

// Original returns the exchange with the file, for a 304 of url; nil if it is unknown.
func (s Source) Original(url string) *storage.Original {
	if s.Body == "" {
		return nil
	}
	return &storage.Original{URL: url, Date: time.UnixMicro(s.BodyAt).UTC(), ID: s.Body}
}

// Learn records the exchange from which the policy in state comes.
func (s *Source) Learn(state robots.State, status int, record string, date time.Time) {
	s.Record = record
	switch _, ruled := state.Body(); {
	case !ruled:
		s.Body, s.BodyAt = "", 0
	case status != http.StatusNotModified:
		s.Body, s.BodyAt = record, date.UnixMicro()
	}
}

func (s Source) append(b []byte) []byte {
	var id [maxID + 1]byte
	b = appendOctets(b, packID(id[:0], s.Record))
	b = appendOctets(b, packID(id[:0], s.Body))
	return binary.AppendVarint(b, s.BodyAt)
}

func (r *decoder) source() Source {
	return Source{Record: unpackID(r.bytes()), Body: unpackID(r.bytes()), BodyAt: r.varint()}
}

// The id of a record is stored as the bytes of its UUID if it is the URN of one in lower case (RFC 9562 4), otherwise as text.
// Text longer than maxID is dropped, since a State has little room.
const (
	maxID  = 24
	idUUID = 1
	idText = 2
	lenURN = len("urn:uuid:xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
)

// packID appends an id to b, unless it is empty or longer than maxID.
func packID(b []byte, id string) []byte {
	if u, err := uuid.Parse(id); err == nil && len(id) == lenURN && strings.ToLower(id) == id {
		return append(append(b, idUUID), u[:]...)
	}
	if id == "" || len(id) > maxID {
		return b
	}
	return append(append(b, idText), id...)
}

func unpackID(p []byte) string {
	switch {
	case len(p) == 17 && p[0] == idUUID:
		return uuid.UUID(p[1:]).URN()
	case len(p) > 1 && p[0] == idText:
		return string(p[1:])
	}
	return ""
}

// paceWords are the reasons for a delay by their stored numbers, which are stable.
var paceWords = [...]storage.PaceBy{
	"", storage.ByFloor, storage.ByCrawlDelay, storage.ByRequestRate, storage.ByResponseTime, storage.ByAddress, storage.ByRateLimit, storage.ByRetryAfter, storage.ByErrors, storage.ByRobots, storage.ByHostSetting, storage.ByOperator,
}

func paceNumber(by storage.PaceBy) byte { return byte(max(slices.Index(paceWords[:], by), 0)) }

func (r *decoder) pace() Pace {
	d, by := time.Duration(r.uvarint())*time.Microsecond, r.uvarint()
	if by >= uint64(len(paceWords)) {
		r.bad = true
		return Pace{}
	}
	return Pace{d, paceWords[by]}
}

// NextGeneration returns a host for the next generation: with all that politeness needs, and without counts of its content.
func NextGeneration(h frontier.Host) (frontier.Host, error) {
	n, err := Read(h.Memory)
	if err != nil {
		return h, err
	}
	n.Pages, n.Sitemaps, n.History = 0, 0, nil
	next := frontier.Host{Authority: h.Authority, HostUpdate: h.HostUpdate, Hold: h.Hold, Wait: h.Wait}
	if next.Condition == frontier.Retired { // of a run
		next.Condition, next.Reason = frontier.Open, ""
	}
	if len(h.Memory) > 0 {
		next.Memory = n.Append(nil)
	}
	return next, nil
}

// NextRound is NextGeneration for requesting some pages again: pages count as fetched, and the history of the traps stays.
func NextRound(h frontier.Host, pages uint64) (frontier.Host, error) {
	kept, err := Read(h.Memory)
	if err != nil {
		return h, err
	}
	next, err := NextGeneration(h)
	if len(h.Memory) > 0 {
		kept.Pages, kept.Sitemaps = pages, 0
		next.Memory = kept.Append(nil)
	}
	return next, err
}
