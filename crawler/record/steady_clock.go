package record

// This file gives times that do not step with the wall clock, which people and time servers set: a Clock for pauses,
// Dates for evidence.

import "time"

// Clock gives times that never step: those of the wall clock at the start, plus the time that a monotonic clock has
// measured since.
type Clock struct{ start time.Time }

// Start returns a clock that starts now.
func Start() Clock { return Clock{time.Now()} }

// Micros is an instant that time.Now told, in microseconds of the steady clock.
func (c Clock) Micros(t time.Time) int64 {
	return c.start.UnixMicro() + t.Sub(c.start).Microseconds()
}

// Elapsed is the time since the start.
func (c Clock) Elapsed() time.Duration { return time.Since(c.start) }
