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

// State is what the crawl remembers of a host from turn to turn, beside its robots state. The frontier keeps it as
// frontier.HostUpdate.Memory. The zero value is a host never met.
type State struct {
	times   [5]time.Duration // the last response times; zero entries are not filled yet
	heard   uint64           // responses written so far
	LastEnd int64            // when the last exchange ended, microseconds of the crawl's steady clock; 0: never

	Failures  uint64 // exchanges in a row that failed by the host's fault (politeness rule 12)
	Throttles uint64 // 429 and 503 in a row (rule 11)
	Refusals  uint64 // 401, 402, 403, 407, 451 in a row (rule 13)
	Pages     uint64 // 2xx HTML answers
	Forbidden bool   // robots.txt answered 403
	Sitemaps  uint64 // exchanges for sitemaps; on disk in one number with forbidden, which is its lowest bit

	Run     uint64 // the run that the next two count for
	Parks   uint64 // hours of rest after FailuresToPark failures
	Unknown uint64 // NXDOMAIN, and whatever is Signal.Brief, without an answer in between

	PageFailed  bool   // a page, and not robots.txt alone, is among the failures or throttles in a row
	Spaced      uint64 // microseconds that a RateLimit field asks for between exchanges (rule 14)
	SpacedUntil int64  // when that ends, on the clock of LastEnd
	Proved      bool   // the proof of rule 18 was there when it was looked for
	ProvedAt    int64  // when it was looked for, microseconds of the wall clock; 0: never

	Due    Pace         // the rest that the last exchange was followed by, in whole microseconds
	Source Source       // where the archive has the host's robots policy
	Spot   netip.Prefix // the address that the host was last asked at, as far as the pace goes; invalid: none that shares
	Lost   bool         // a kill came since LastEnd: there may have been an exchange that nothing is known of

	Hearsay Hearsay // what its robots.txt asked for when it was read for another host

	// History is what the traps of politeness rule 22 remember of the host, at most MaxHistory bytes. Nothing here
	// knows what they mean.
	History []byte
}

// MaxHistory leaves room for all else in what a frontier keeps for a host.
const MaxHistory = frontier.MaxMemory - 320

var (
	errDamaged = errors.New("host: its stored state is damaged")
	errVersion = errors.New("host: its stored state is from another version of the program")
)

// Begin forgets what was counted for an earlier run. No exchange ended after now: a wall clock that was set back
// between two runs must not make a host wait for it to catch up.
func (n *State) Begin(run uint64, now int64) {
	if n.Run != run {
		n.Run, n.Parks, n.Unknown = run, 0, 0
		if !n.PageFailed {
			// An outage of robots.txt alone may last: its state keeps the schedule (rule 6), and no host is refused for
			// good over it that was asked once a day.
			n.Throttles = 0
		}
	}
	// A host that was refused gets a turn only when the operator has opened it: that is a new beginning.
	if n.Refusals >= noToRefuse {
		n.Refusals = 0
	}
	if n.Throttles >= noToRefuse {
		n.Throttles = 0
	}
	if n.LastEnd > now {
		n.SpacedUntil -= n.LastEnd - now
		n.LastEnd, n.Due = now, Pace{} // how much of that rest is over is not known
	}
	n.SpacedUntil = min(n.SpacedUntil, now+LongestAfter.Microseconds())
}

// Hear remembers a response time.
func (n *State) Hear(d time.Duration) {
	if d <= 0 {
		return
	}
	n.times[n.heard%uint64(len(n.times))] = d
	n.heard++
}

// Times are the response times that are remembered, in no order that means anything.
func (n *State) Times() []time.Duration { return n.times[:min(n.heard, uint64(len(n.times)))] }

// Response is the median of the last response times; zero when there is none. Of an even number it is the larger of
// the middle two, so that the pace errs towards the longer.
func (n *State) Response() time.Duration {
	k := int(min(n.heard, uint64(len(n.times))))
	if k == 0 {
		return 0
	}
	s := n.times
	slices.Sort(s[:k])
	return s[k/2]
}

// WithRowsOf is n with what o has counted in a row.
func (n State) WithRowsOf(o State) State {
	n.Failures, n.Throttles, n.Parks, n.Unknown, n.PageFailed = o.Failures, o.Throttles, o.Parks, o.Unknown, o.PageFailed
	return n
}

// Hearsay is the pace that a host's robots.txt asks for, as it was read for another host, whose own robots.txt redirects to
// it. It is kept until the host's own policy is had (politeness rule 7).
type Hearsay struct {
	Pace        // in whole microseconds
	Until int64 // when the text expires, microseconds of the wall clock: a failure after that leaves nothing of it
}

// Hear takes what a text asks for that was read for another host.
func (h *Hearsay) Hear(p Pace, until time.Time) {
	*h = Hearsay{}
	if p.Pause > 0 {
		p.Pause = (p.Pause + time.Microsecond - 1).Truncate(time.Microsecond)
		*h = Hearsay{p, until.UnixMicro()}
	}
}

// Fail takes that robots.txt could not be had.
func (h *Hearsay) Fail(now time.Time) {
	if now.UnixMicro() >= h.Until {
		h.Forget()
	}
}

// Forget takes that the host's own policy was had, or that there is none any more.
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

// Read decodes what Append wrote; nothing gives the zero State. It holds on to b.
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

// bytes returns a byte string, its length before it; nil for the empty one. It is a part of what is read.
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

// appendSpot writes what counts of an address: of IPv4 all, of IPv6 the first half.
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

// spot reads what appendSpot wrote.
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

// Source says where the archive has a host's robots policy. The zero value says that it is not known: nothing was
// asked yet.
type Source struct {
	Record string // id of the record of the exchange that last said what the policy is
	// body is the exchange that brought the file, if the policy is one: of those that said since that it still holds (304)
	// none has it. Its URL is the one that a conditional request goes to (RFC 9110 8.8: validators are of one resource).
	Body   string // id of its record
	BodyAt int64  // its date, microseconds of the wall clock
}

// Original is the exchange that brought the file, for an answer of url that it still holds; nil when it is not known.
func (s Source) Original(url string) *storage.Original {
	if s.Body == "" {
		return nil
	}
	return &storage.Original{URL: url, Date: time.UnixMicro(s.BodyAt).UTC(), ID: s.Body}
}

// Learn notes that an exchange, of that status and archived as record at date, said what the policy is, which is now in
// state.
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

// An id of a record is kept in the octets of its UUID where it is the URN of one in lower case (RFC 9562 4), behind a number that says so;
// another one as it is. One that is longer than maxID is not kept: there is little room in the notes on a host.
const (
	maxID  = 24
	idUUID = 1
	idText = 2
	lenURN = len("urn:uuid:xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
)

// packID appends an id to b, or nothing.
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

// paceWords are those who ask for a pace, by their numbers in the notes; the numbers are stable on disk.
var paceWords = [...]storage.PaceBy{
	"", storage.ByFloor, storage.ByCrawlDelay, storage.ByRequestRate, storage.ByResponseTime, storage.ByAddress, storage.ByRateLimit, storage.ByRetryAfter, storage.ByErrors, storage.ByRobots, storage.ByHostSetting, storage.ByOperator,
}

func paceNumber(by storage.PaceBy) byte { return byte(max(slices.Index(paceWords[:], by), 0)) }

// pace reads a pause and who asked for it.
func (r *decoder) pace() Pace {
	d, by := time.Duration(r.uvarint())*time.Microsecond, r.uvarint()
	if by >= uint64(len(paceWords)) {
		r.bad = true
		return Pace{}
	}
	return Pace{d, paceWords[by]}
}

// NextGeneration is what is kept of a host in the next generation: all that politeness needs (its condition, how long it rests,
// its pace, its robots policy, what is in a row), and nothing of what it brought.
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

// NextRound is what is kept of a host when some of its pages are asked for again: so many pages count as fetched, and what its
// traps have learned stays. Like NextGeneration it opens a host that was retired.
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
