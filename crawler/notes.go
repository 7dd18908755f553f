package crawler

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"time"

	"curtsy/frontier"
)

// notes is what the crawl remembers of a host from turn to turn, beside its robots state. The frontier keeps it as
// frontier.HostUpdate.Memory. The zero value is a host never met.
type notes struct {
	responses [5]time.Duration // the last response times; zero entries are not filled yet
	next      uint64           // responses written so far
	lastEnd   int64            // when the last exchange ended, microseconds of the crawl's steady clock; 0: never

	failures  uint64 // exchanges in a row that failed by the host's fault (politeness rule 12)
	throttles uint64 // 429 and 503 in a row (rule 11)
	refusals  uint64 // 401, 402, 403, 407, 451 in a row (rule 13)
	pages     uint64 // 2xx HTML answers
	forbidden bool   // robots.txt answered 403
	maps      uint64 // exchanges for sitemaps; on disk in one number with forbidden, which is its lowest bit

	run     uint64 // the run that the next two count for
	parks   uint64 // hours of rest after failuresToPark failures
	unknown uint64 // NXDOMAIN, without an answer in between

	pageFailed  bool   // a page, and not robots.txt alone, is among the failures or throttles in a row
	spaced      uint64 // microseconds that a RateLimit field asks for between exchanges (rule 14)
	spacedUntil int64  // when that ends, on the clock of lastEnd
	proved      bool   // the proof of rule 18 was there when it was looked for
	provedAt    int64  // when it was looked for, microseconds of the wall clock; 0: never

	due    pace         // the rest that the last exchange was followed by, in whole microseconds
	source policySource // where the archive has the host's robots policy
	lost   bool         // a kill came since lastEnd: there may have been an exchange that nothing is known of
	spot   netip.Prefix // the address that the host was last asked at, as far as the pace goes; invalid: none that shares

	// history is what the traps of politeness rule 22 remember of the host, at most maxHistory octets. Nothing here
	// knows what they mean.
	history []byte
}

// The first version has none of what follows unknown, the second has neither due nor source, the third no spot.
const (
	notesVersion       = 4
	notesThirdVersion  = 3
	notesSecondVersion = 2
	notesFirstVersion  = 1
)

// maxHistory leaves room for all else in what a frontier keeps for a host.
const maxHistory = frontier.MaxMemory - 320

var errNotes = errors.New("crawler: the notes on a host are damaged")

// append encodes n after b.
func (n *notes) append(b []byte) []byte {
	b = append(b, notesVersion)
	for _, d := range n.responses {
		b = binary.AppendUvarint(b, uint64(d/time.Microsecond))
	}
	b = binary.AppendVarint(b, n.lastEnd)
	const noLonger = 0 // the first version counted park periods of a run here
	for _, v := range []uint64{n.next, n.failures, n.throttles, n.refusals, n.pages, n.maps<<1 | flag(n.forbidden), n.run, n.parks, noLonger, n.unknown} {
		b = binary.AppendUvarint(b, v)
	}
	for _, v := range []uint64{flag(n.pageFailed), n.spaced, flag(n.proved)} {
		b = binary.AppendUvarint(b, v)
	}
	b = binary.AppendVarint(b, n.spacedUntil)
	b = binary.AppendVarint(b, n.provedAt)
	b = appendOctets(b, n.history)
	b = binary.AppendUvarint(b, uint64(n.due.d/time.Microsecond))
	b = append(b, paceNumber(n.due.by))
	b = n.source.append(b)
	b = append(b, byte(flag(n.lost)))
	return appendSpot(b, n.spot)
}

// appendSpot writes what counts of an address: of IPv4 all, of IPv6 the first half (see spotOf).
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
func (r *notesReader) spot() netip.Prefix {
	var a [16]byte
	switch b := r.octets(); {
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

func appendOctets(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// readNotes decodes what append wrote, or what an earlier version wrote; nothing gives the zero notes. They hold on to b.
func readNotes(b []byte) (notes, error) {
	if len(b) == 0 {
		return notes{}, nil
	}
	version := b[0]
	if version < notesFirstVersion || version > notesVersion {
		return notes{}, errNotes
	}
	var n notes
	r := notesReader{b: b[1:]}
	for i := range n.responses {
		n.responses[i] = time.Duration(r.uvarint()) * time.Microsecond
	}
	n.lastEnd = r.varint()
	var noLonger uint64
	for _, p := range []*uint64{&n.next, &n.failures, &n.throttles, &n.refusals, &n.pages} {
		*p = r.uvarint()
	}
	forbidden := r.uvarint()
	n.forbidden, n.maps = forbidden&1 != 0, forbidden>>1
	for _, p := range []*uint64{&n.run, &n.parks, &noLonger, &n.unknown} {
		*p = r.uvarint()
	}
	if version >= notesSecondVersion {
		n.pageFailed, n.spaced, n.proved = r.uvarint() != 0, r.uvarint(), r.uvarint() != 0
		n.spacedUntil, n.provedAt = r.varint(), r.varint()
		n.history = r.octets()
	}
	if version >= notesThirdVersion {
		n.due = r.pace()
		n.source = r.source()
		n.lost = r.uvarint() != 0
	}
	if version >= notesVersion {
		n.spot = r.spot()
	}
	if r.bad || len(r.b) > 0 {
		return notes{}, errNotes
	}
	return n, nil
}

// notesReader takes numbers from b until one is missing.
type notesReader struct {
	b   []byte
	bad bool
}

func (r *notesReader) uvarint() uint64 {
	v, w := binary.Uvarint(r.b)
	r.skip(w)
	return v
}

func (r *notesReader) varint() int64 {
	v, w := binary.Varint(r.b)
	r.skip(w)
	return v
}

// octets returns an octet string, its length before it; nil for the empty one. It is a part of what is read.
func (r *notesReader) octets() []byte {
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

func (r *notesReader) skip(w int) {
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

// begin forgets what was counted for an earlier run. No exchange ended after now: a wall clock that was set back
// between two runs must not make a host wait for it to catch up.
func (n *notes) begin(run uint64, now int64) {
	if n.run != run {
		n.run, n.parks, n.unknown = run, 0, 0
		if !n.pageFailed {
			// An outage of robots.txt alone may last: its state keeps the schedule (rule 6), and no host is refused for
			// good over it that was asked once a day.
			n.throttles = 0
		}
	}
	// A host that was refused gets a turn only when the operator has opened it: that is a new beginning.
	if n.refusals >= noToRefuse {
		n.refusals = 0
	}
	if n.throttles >= noToRefuse {
		n.throttles = 0
	}
	if n.lastEnd > now {
		n.spacedUntil -= n.lastEnd - now
		n.lastEnd, n.due = now, pace{} // how much of that rest is over is not known
	}
	n.spacedUntil = min(n.spacedUntil, now+longestAfter.Microseconds())
}

// heard remembers a response time.
func (n *notes) heard(d time.Duration) {
	if d <= 0 {
		return
	}
	n.responses[n.next%uint64(len(n.responses))] = d
	n.next++
}

// response is the median of the last response times; zero when there is none. Of an even number it is the larger of
// the middle two, so that the pace errs towards the longer.
func (n *notes) response() time.Duration {
	k := int(min(n.next, uint64(len(n.responses))))
	if k == 0 {
		return 0
	}
	s := n.responses
	slices.Sort(s[:k])
	return s[k/2]
}
