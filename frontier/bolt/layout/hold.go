package layout

import (
	"math"

	"curtsy/frontier"
)

// Hold is what an operator commanded about a host. It is kept in the host's state, behind everything else: a state
// that ends before it has none.
type Hold struct {
	Act    frontier.Act // Park or Drop
	Until  int64        // on the clock of the opening; the end of time when it does not end by itself
	Reason string

	// closing says that what is pending of a host that was dropped is being closed, in batches. A death between two
	// leaves it set, and the next opening does the rest.
	Closing bool
}

// Ends reports whether k ends by itself: a park with a time is a wait, anything else takes the host out.
func (k *Hold) Ends() bool { return k.Until != math.MaxInt64 }

// Same reports whether k and l, which may be nil, are one command.
func (k *Hold) Same(l *Hold) bool {
	if k == nil || l == nil {
		return k == l
	}
	return k.Act == l.Act && k.Until == l.Until && k.Reason == l.Reason
}

// appendTo writes k behind the rest of a state; nil writes nothing.
func (k *Hold) appendTo(b []byte, c Clock, now int64) []byte {
	if k == nil {
		return b
	}
	flags := byte(0)
	if k.Ends() {
		flags |= endsFlag
	}
	if k.Closing {
		flags |= closingFlag
	}
	b = append(b, byte(k.Act), flags)
	if k.Ends() {
		b = c.appendWait(b, now, k.Until)
	}
	return appendText(b, k.Reason)
}

// The flags of a hold, stable on disk.
const (
	endsFlag    = 1 // a wait follows
	closingFlag = 2
)

// parseHold reads what AppendTo wrote, if it is there. A park whose time is over is none.
func parseHold(p *parser, c Clock) *Hold {
	if !p.more() {
		return nil
	}
	head := p.bytes(2)
	if p.bad || head[0] != byte(frontier.Park) && head[0] != byte(frontier.Drop) || head[1] > endsFlag|closingFlag {
		p.fail()
		return nil
	}
	k := &Hold{Act: frontier.Act(head[0]), Until: math.MaxInt64, Closing: head[1]&closingFlag != 0}
	if head[1]&endsFlag != 0 {
		k.Until = c.parseWait(p)
	}
	if k.Reason = p.text(); k.Until == 0 {
		return nil
	}
	return k
}
