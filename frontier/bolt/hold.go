package bolt

import (
	"encoding/binary"
	"math"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/heap"
)

// hold is what an operator commanded about a host. It is kept in the host's state cell, behind everything else: a cell
// that ends before it has none.
type hold struct {
	act    frontier.Act // Park or Drop
	until  int64        // on the clock of the opening; the end of time when it does not end by itself
	reason string

	// closing says that what is pending of a host that was dropped is being closed, in batches. A death between two
	// leaves it set, and the next opening does the rest.
	closing bool
}

// ends reports whether k ends by itself: a park with a time is a wait, anything else takes the host out.
func (k *hold) ends() bool { return k.until != math.MaxInt64 }

// stopped reports whether h is out until an operator resumes it.
func (h *host) stopped() bool { return h.hold != nil && !h.hold.ends() }

// dropped reports whether an operator has dropped h. What is pending of it nevertheless, under a lease or by a Retry, waits
// for Resume.
func (h *host) dropped() bool { return h.hold != nil && h.hold.act == frontier.Drop }

// closing reports whether a Drop of h has not closed all yet.
func (h *host) closing() bool { return h.hold != nil && h.hold.closing }

// setClosing notes that a Drop of h, which is dropped, has begun to close what is pending, or is through. The caller holds
// mu and has touched the open group.
func (f *Frontier) setClosing(h *host, yes bool) {
	if h.hold.closing != yes {
		h.hold.closing = yes
		f.open.change(h)
	}
	f.scheduler.closing = yes // there is one command at a time
}

// same reports whether k and l, which may be nil, are one command.
func (k *hold) same(l *hold) bool {
	if k == nil || l == nil {
		return k == l
	}
	return k.act == l.act && k.until == l.until && k.reason == l.reason
}

// free returns when h may have a turn: its own wait is over, and a park that ends by itself.
func (h *host) free() int64 {
	if h.hold != nil {
		return max(h.notBefore, h.hold.until)
	}
	return h.notBefore
}

// holdView is the hold of h as the outside sees it.
func (h *host) holdView(now int64) frontier.Hold {
	k := h.hold
	switch {
	case k == nil:
		return frontier.Hold{}
	case k.act == frontier.Drop:
		return frontier.Hold{Act: k.act, Reason: k.reason}
	case !k.ends():
		return frontier.Hold{Act: k.act, Reason: k.reason, Wait: frontier.Never}
	}
	return frontier.Hold{Act: k.act, Reason: k.reason, Wait: time.Duration(max(k.until-now, 0))}
}

// holdOf is the inverse of holdView.
func holdOf(v frontier.Hold, now int64) *hold {
	switch {
	case v.Act == frontier.Drop:
		return &hold{act: v.Act, until: math.MaxInt64, reason: v.Reason}
	case v.Act == frontier.Park && v.Wait > 0:
		return &hold{act: v.Act, until: after(now, v.Wait), reason: v.Reason}
	}
	return nil // or it has just ended
}

// appendTo writes k behind the rest of a state cell; nil writes nothing.
func (k *hold) appendTo(b []byte, c clock, now int64) []byte {
	if k == nil {
		return b
	}
	flags := byte(0)
	if k.ends() {
		flags |= endsFlag
	}
	if k.closing {
		flags |= closingFlag
	}
	b = append(b, byte(k.act), flags)
	if k.ends() {
		b = c.appendWait(b, now, k.until)
	}
	return appendText(b, k.reason)
}

// The flags of a hold, stable on disk.
const (
	endsFlag    = 1 // a wait follows
	closingFlag = 2
)

// parseHold reads what appendTo wrote, if it is there. A park whose time is over is none.
func parseHold(p *parser, c clock) *hold {
	if !p.more() {
		return nil
	}
	head := p.bytes(2)
	if p.bad || head[0] != byte(frontier.Park) && head[0] != byte(frontier.Drop) || head[1] > endsFlag|closingFlag {
		p.fail()
		return nil
	}
	k := &hold{act: frontier.Act(head[0]), until: math.MaxInt64, closing: head[1]&closingFlag != 0}
	if head[1]&endsFlag != 0 {
		k.until = c.parseWait(p)
	}
	if k.reason = p.text(); k.until == 0 {
		return nil
	}
	return k
}

// setHold puts k, or nil, in the place of the hold of h, and returns whether that is a change. The caller holds mu and
// has touched the open group.
func (f *Frontier) setHold(h *host, k *hold, now int64) bool {
	if h.hold.same(k) {
		return false
	}
	f.count(h, -1)
	h.hold = k
	f.count(h, 1)
	f.open.change(h)
	f.watch(h)
	f.reschedule(h, now)
	return true
}

// watch sees to it that the hold of h ends in time. The caller holds mu.
func (f *Frontier) watch(h *host) {
	if h.hold != nil && h.hold.ends() {
		f.scheduler.holds.Push(heap.Entry{At: h.hold.until, Tie: uint64(h.id)})
	}
}

// endHolds ends the parks whose time is over. When h is due was reckoned with its end, so the schedule stays as it is.
// The caller holds mu.
func (f *Frontier) endHolds(now int64) {
	d := &f.scheduler
	for len(d.holds) > 0 && d.holds[0].At <= now {
		e := d.holds.Pop()
		h := f.hosts[uint32(e.Tie)]
		if h.hold == nil || h.hold.until != e.At {
			continue // resumed, or parked anew
		}
		f.count(h, -1)
		h.hold = nil
		f.count(h, 1)
		if !f.readOnly {
			f.touch(now).change(h)
		}
	}
}

// reschedule enters h anew after something has changed that may make it due later, or never. Its old entry is looked for
// in the whole schedule, which only an operator's command does: two equal ones would both be valid. The caller holds mu.
func (f *Frontier) reschedule(h *host, now int64) {
	f.scheduler.due.Remove(h.id)
	f.enter(h, now)
}

// appendMarks writes what is kept of a task beside its deferral, if there is something.
func (t *retry) appendMarks(b []byte) []byte {
	if t.dropped {
		b = binary.AppendUvarint(b, droppedMark)
	}
	return b
}

// parseMarks reads what appendMarks wrote.
func (t *retry) parseMarks(p *parser) {
	if !p.more() {
		return
	}
	if p.uvarint() != droppedMark {
		p.fail()
	}
	t.dropped = true
}

const droppedMark = 1

// wanted returns how many tasks h gives under a lease that is kept: of a host that an operator holds, none.
func (h *host) wanted(n int) int {
	if h.hold != nil {
		return 0
	}
	return max(n, 0)
}
