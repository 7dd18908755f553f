package host

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"time"

	"curtsy/frontier"
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
