package bolt

import (
	"encoding/binary"
	"time"
)

// clock is the time of an opening: nanoseconds since it began, on the monotonic clock, so that a step of the wall
// clock moves no host.
type clock struct {
	began time.Time
}

func (c clock) now() int64 { return int64(time.Since(c.began)) }

// appendWait writes when something is due as the time of the wall clock and as the length of the wait. The first lets
// the time count during which nothing ran, the second bounds the wait by what it was.
func (c clock) appendWait(b []byte, now, due int64) []byte {
	length := max(due-now, 0)
	wall := int64(0)
	if length > 0 {
		wall = after(time.Now().UnixNano(), time.Duration(length))
	}
	b = binary.AppendUvarint(b, uint64(wall))
	return binary.AppendUvarint(b, uint64(length))
}

// parseWait reads what appendWait wrote and returns when that is on this clock: what is left by the wall clock, never
// more than the whole wait, however far the clock was set back.
func (c clock) parseWait(p *parser) int64 {
	wall, length := int64(p.uvarint()), int64(p.uvarint())
	left := min(wall-c.began.UnixNano(), length)
	return max(left, 0)
}
