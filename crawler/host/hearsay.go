package host

import (
	"encoding/binary"
	"time"
)

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
