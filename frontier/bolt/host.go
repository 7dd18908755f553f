package bolt

import (
	"encoding/binary"
	"math"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/heap"
	"curtsy/frontier/canon"
)

// host is what RAM holds of an authority. Robots state and the crawler's memory are on disk; the address of their
// cells is here. Times are nanoseconds on the clock of the opening; see clock.
type host struct {
	authority canon.Authority
	id        uint32
	condition frontier.Condition
	hold      *hold // by an operator; mostly nil
	dirty     bool  // in the dirty list of the open group
	named     bool  // its name is on disk, or on its way
	deep      bool  // its tasks are given depth first
	held      bool  // among the hosts whose suspect cannot be given yet; see scheduler
	width     int
	pace      time.Duration
	reason    string
	notBefore int64
	finished  frontier.Token // of the last Finish that ended a turn
	lease     *lease
	queue     queue
	aside     *aside // of tasks that have been claimed before; mostly nil
	domain    *domain

	outcomes [len(frontier.Outcomes{})]uint32
	refused  uint32 // of outcomes, those that never were tasks
	queued   uint32
	inFlight uint32
	deferred uint32

	at [hostKinds]uint64 // values of the cell journal, by kind less one; zero is none
}

// aside holds references out of a host's queue.
type aside struct {
	early    heap.Heap // to be claimed before those of the queue beyond them: at is the rank of the reference
	later    heap.Heap // deferred, and untried for all that: at is the time when they are due, tie the reference
	again    heap.Heap // tried before: likewise
	tried    heap.Heap // of these, those that are due, given when nothing untried is: at is the rank
	suspects heap.Heap // given when nothing else is due: at is the rank
}

// lease is a turn that is out.
type lease struct {
	token   frontier.Token
	expires int64
	width   int
	trial   bool                   // its one task is a suspect
	tasks   []held                 // those not settled yet, in the order in which they were given
	dropped []frontier.Fingerprint // those that a drop closed since the last Finish
	robots  []byte                 // as they are stored, so that an update that changes nothing writes nothing
	memory  []byte
}

// held is a task under a lease. The print is known when the text has been read, which is before anybody can name it.
type held struct {
	ref   ref
	print frontier.Fingerprint
}

// retry is what is kept of a task that was deferred, released or dropped under a lease, or is a suspect, until it is
// closed.
type retry struct {
	attempts int
	stops    int // unclean stops at which it was in flight; beyond zero it is a suspect
	alone    int // of these, those at which nothing else was
	reason   string
	url      string // replaces the fetch URL; empty for none
	due      int64
	host     uint32 // with dropped, when it was read from the file
	dropped  bool   // by an operator while it was under a lease: to be closed when that ends
	at       uint64 // value of the cell journal; zero when it is not written yet
}

func (h *host) pending() uint32 { return h.queued + h.inFlight + h.deferred }
func (h *host) claimable() bool {
	return h.condition == frontier.Open || h.condition == frontier.Parked
}
func (h *host) accepted() uint32 { return h.pending() + h.closed() - h.refused }

func (h *host) closed() uint32 {
	n := uint32(0)
	for _, k := range h.outcomes {
		n += k
	}
	return n
}

// wait puts h off until d from now. A longer wait stays; a negative one is none.
func (h *host) wait(now int64, d time.Duration) {
	h.notBefore = max(h.notBefore, after(now, d))
}

// after returns now + d, or the end of time.
func after(now int64, d time.Duration) int64 {
	d = max(d, 0)
	if int64(d) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(d)
}

// giveBack returns a reference to its place in the order of acceptance.
func (h *host) giveBack(r ref) {
	if h.aside == nil {
		h.aside = &aside{}
	}
	h.aside.early.Push(heap.Entry{At: h.rank(r)})
}

// rank returns the place of a reference in the order of h's tasks, least first; the rank of a rank is the reference.
func (h *host) rank(r ref) int64 {
	if h.deep {
		return -int64(r)
	}
	return int64(r)
}

// unrank returns the reference that has a rank.
func (h *host) unrank(at int64) ref {
	if h.deep {
		return ref(-at)
	}
	return ref(at)
}

// giveSuspect returns a reference to be given when nothing else is due.
func (h *host) giveSuspect(r ref) {
	if h.aside == nil {
		h.aside = &aside{}
	}
	h.aside.suspects.Push(heap.Entry{At: h.rank(r)})
}

// giveLater returns a deferred reference, of which t is kept, for when it is due.
func (h *host) giveLater(r ref, t *retry) {
	if h.aside == nil {
		h.aside = &aside{}
	}
	places := &h.aside.later
	if t.attempts > 0 {
		places = &h.aside.again
	}
	places.Push(heap.Entry{At: t.due, Tie: uint64(r)})
}

// available returns when h has a task to give, suspects apart; ok is false when it has none.
func (h *host) available(now int64) (at int64, ok bool) {
	if _, ok := h.queue.front(); ok {
		return now, true
	}
	switch a := h.aside; {
	case a == nil:
		return 0, false
	case len(a.early)+len(a.tried) > 0:
		return now, true
	case len(a.later) > 0 && len(a.again) > 0:
		return min(a.later[0].At, a.again[0].At), true
	case len(a.later) > 0:
		return a.later[0].At, true
	case len(a.again) > 0:
		return a.again[0].At, true
	}
	return 0, false
}

// take removes up to n references that can be given now, suspects apart, and returns them in their order: what was tried
// before comes after all that was not, lest what fails again and again keep the rest of the host waiting.
func (h *host) take(now int64, n int) []ref {
	var refs []ref
	if a := h.aside; a != nil {
		for len(a.later) > 0 && a.later[0].At <= now {
			a.early.Push(heap.Entry{At: h.rank(timed(a.later.Pop()))})
		}
		for len(a.again) > 0 && a.again[0].At <= now {
			a.tried.Push(heap.Entry{At: h.rank(timed(a.again.Pop()))})
		}
	}
	for len(refs) < n {
		r, ok := h.first()
		if a := h.aside; a != nil && len(a.early) > 0 && (!ok || a.early[0].At < h.rank(r)) {
			refs = append(refs, h.unrank(a.early.Pop().At))
			continue
		}
		if !ok {
			break
		}
		h.popFirst()
		refs = append(refs, r)
	}
	if a := h.aside; a != nil {
		for len(refs) < n && len(a.tried) > 0 {
			refs = append(refs, h.unrank(a.tried.Pop().At))
		}
	}
	h.clearAside()
	return refs
}

// first returns the reference of the queue that comes first.
func (h *host) first() (r ref, ok bool) {
	if h.deep {
		return h.queue.back()
	}
	return h.queue.front()
}

// popFirst removes what first returns.
func (h *host) popFirst() {
	if h.deep {
		h.queue.popBack()
		return
	}
	h.queue.pop()
}

// clearAside drops what is aside when there is nothing in it.
func (h *host) clearAside() {
	if a := h.aside; a != nil && len(a.early)+len(a.later)+len(a.again)+len(a.tried)+len(a.suspects) == 0 {
		h.aside = nil
	}
}

// state returns the state cell of h.
func (h *host) state(c clock, now int64) *cell {
	b := []byte{byte(h.condition)}
	b = binary.AppendUvarint(b, uint64(h.width))
	b = binary.AppendUvarint(b, uint64(h.pace))
	b = binary.AppendUvarint(b, uint64(h.refused))
	b = binary.AppendUvarint(b, uint64(h.finished))
	b = c.appendWait(b, now, h.notBefore)
	b = appendText(b, h.reason)
	b = h.hold.appendTo(b, c, now)
	return &cell{address: address{kind: stateCell, id: uint64(h.id)}, data: b}
}

// parseState reads a state cell into h, and reports whether it is one.
func (h *host) parseState(data []byte, c clock) bool {
	p := parser{b: data}
	if b := p.bytes(1); !p.bad {
		h.condition = frontier.Condition(b[0])
	}
	h.width = int(p.uvarint())
	h.pace = time.Duration(p.uvarint())
	h.refused = uint32(p.uvarint())
	h.finished = frontier.Token(p.uvarint())
	h.notBefore = c.parseWait(&p)
	h.reason = p.text()
	h.hold = parseHold(&p, c)
	return p.done() && h.condition <= frontier.Refused
}

// void reports whether t says that there is nothing to say: the task was opened again.
func (t *retry) void() bool {
	return !t.deferred() && t.stops == 0 && t.reason == "" && !t.dropped
}

// deferred reports whether t is of a task that was deferred, which has counted an attempt or replaced the URL. Nil is
// not.
func (t *retry) deferred() bool { return t != nil && (t.attempts > 0 || t.url != "") }

// suspect reports whether t is of a suspect. Nil is not.
func (t *retry) suspect() bool { return t != nil && t.stops > 0 }

// cell returns the retry cell of the task r.
func (t *retry) cell(r ref, c clock, now int64) *cell {
	b := binary.AppendUvarint(nil, uint64(t.attempts))
	b = c.appendWait(b, now, t.due)
	b = appendText(b, t.reason)
	b = appendText(b, t.url)
	b = binary.AppendUvarint(b, uint64(t.stops))
	b = binary.AppendUvarint(b, uint64(t.alone))
	b = t.appendMarks(b)
	return &cell{address: address{kind: retryCell, id: uint64(r)}, data: b}
}

// parseRetry reads a retry cell.
func parseRetry(data []byte, c clock) (*retry, bool) {
	p := parser{b: data}
	t := &retry{attempts: int(p.uvarint()), due: c.parseWait(&p), reason: p.text(), url: p.text()}
	t.stops, t.alone = int(p.uvarint()), int(p.uvarint())
	t.parseMarks(&p)
	return t, p.done()
}
