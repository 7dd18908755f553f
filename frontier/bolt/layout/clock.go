package layout

import (
	"encoding/binary"
	"math"
	"time"
)

// Clock is the time of an opening: nanoseconds since it began, on the monotonic clock, so that a step of the wall
// clock moves no host.
//
// A time that outlives the opening is kept by the wall clock, but by one that never goes back: it begins where the
// last opening left it, and goes on at least as fast as the monotonic clock. When the machine's own was set back, waits
// therefore go on while the frontier is open, and no opening begins them anew; when it was set forward, nothing tells
// that from time during which nothing ran.
type Clock struct {
	Began time.Time
	Least int64 // what the wall clock showed at began, at the least
}

func (c Clock) Now() int64 { return int64(time.Since(c.Began)) }

// wall returns the time of the wall clock that never goes back.
func (c Clock) wall(now int64) int64 {
	return max(time.Now().UnixNano(), After(c.Least, time.Duration(now)))
}

// appendWait writes when something is due as the time of the wall clock and as the length of the wait. The first lets
// the time count during which nothing ran, the second bounds the wait by what it was.
func (c Clock) appendWait(b []byte, now, due int64) []byte {
	length := max(due-now, 0)
	wall := int64(0)
	if length > 0 {
		wall = After(c.wall(now), time.Duration(length))
	}
	b = binary.AppendUvarint(b, uint64(wall))
	return binary.AppendUvarint(b, uint64(length))
}

// parseWait reads what appendWait wrote and returns when that is on this clock: what is left by the wall clock, never
// more than the whole wait.
func (c Clock) parseWait(p *parser) int64 {
	wall, length := int64(p.uvarint()), int64(p.uvarint())
	left := min(wall-max(c.Began.UnixNano(), c.Least), length)
	return max(left, 0)
}

// After returns now + d, or the end of time.
func After(now int64, d time.Duration) int64 {
	d = max(d, 0)
	if int64(d) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(d)
}
