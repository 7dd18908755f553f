package record

import (
	"sync"
	"time"
)

// Dates are the dates of evidence. Within a run they never go back, since a clock set back would make delays look too short. They
// follow a clock that jumps ahead, as after a computer slept.
type Dates struct {
	start time.Time

	mu    sync.Mutex
	ahead time.Duration // of a monotonic clock since start
}

func NewDates() *Dates { return &Dates{start: time.Now()} }

// jump is the difference from which dates follow the wall clock. Less is a slow correction.
const jump = time.Second

// Of returns the date of an instant of time.Now.
func (d *Dates) Of(t time.Time) time.Time {
	date, _ := d.WithAhead(t)
	return date
}

// WithAhead is Of, with the lead over the steady clock (storage.Line.Ahead).
func (d *Dates) WithAhead(t time.Time) (date time.Time, ahead time.Duration) {
	steady := d.start.Round(0).Add(t.Sub(d.start))
	date = d.date(steady, t.Round(0))
	return date, date.Sub(steady)
}

func (d *Dates) date(steady, wall time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if by := wall.Sub(steady); by > d.ahead+jump {
		d.ahead = by
	}
	return steady.Add(d.ahead)
}

// Clock is a steady clock for delays: the wall clock at the start, plus a monotonic clock.
type Clock struct{ start time.Time }

func Start() Clock { return Clock{time.Now()} }

// Micros converts an instant of time.Now to microseconds of the steady clock.
func (c Clock) Micros(t time.Time) int64 {
	return c.start.UnixMicro() + t.Sub(c.start).Microseconds()
}

func (c Clock) Elapsed() time.Duration { return time.Since(c.start) }
