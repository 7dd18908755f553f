package record

import (
	"sync"
	"time"
)

// Dates gives the times that evidence is dated with. Within a run they never go back: a clock that is set back while a
// crawl runs would make honest pauses look like none, and nobody could tell them from forged ones. One that jumps ahead,
// as after a computer slept, is followed.
type Dates struct {
	start time.Time

	mu    sync.Mutex
	ahead time.Duration // of what a monotonic clock measured since start
}

// NewDates returns dates that begin with now.
func NewDates() *Dates { return &Dates{start: time.Now()} }

// jump is from which difference on the wall clock is followed. Less is a clock that is being set right slowly.
const jump = time.Second

// Of returns the date of an instant that time.Now told.
func (d *Dates) Of(t time.Time) time.Time {
	date, _ := d.WithAhead(t)
	return date
}

// WithAhead is Of, and says how far the date is ahead of the steady clock (storage.Line.Ahead).
func (d *Dates) WithAhead(t time.Time) (date time.Time, ahead time.Duration) {
	steady := d.start.Round(0).Add(t.Sub(d.start))
	date = d.date(steady, t.Round(0))
	return date, date.Sub(steady)
}

// date returns the date of an instant that the steady clock and the wall clock name so.
func (d *Dates) date(steady, wall time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if by := wall.Sub(steady); by > d.ahead+jump {
		d.ahead = by
	}
	return steady.Add(d.ahead)
}

// Clock gives times that never step, unlike the wall clock, which people and time servers set: the time of the wall clock
// at the start, plus the time that a monotonic clock has measured since. Clock is for pauses, Dates for evidence.
type Clock struct{ start time.Time }

// Start returns a clock that starts now.
func Start() Clock { return Clock{time.Now()} }

// Micros is an instant that time.Now told, in microseconds of the steady clock.
func (c Clock) Micros(t time.Time) int64 {
	return c.start.UnixMicro() + t.Sub(c.start).Microseconds()
}

// Elapsed is the time since the start.
func (c Clock) Elapsed() time.Duration { return time.Since(c.start) }
