package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Dates follow a wall clock that jumps ahead, but not back.
func TestDatesNeverGoBackWithinARun(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := Dates{start: start}
	for _, c := range []struct{ steady, wall, want time.Duration }{
		{0, 0, 0},
		{10 * time.Second, 10*time.Second + 20*time.Millisecond, 10 * time.Second}, // set right slowly
		{20 * time.Second, -time.Hour, 20 * time.Second},                           // set back
		{30 * time.Second, time.Hour, time.Hour},                                   // the computer slept
		{40 * time.Second, 40 * time.Second, time.Hour + 10*time.Second},
	} {
		assert.Equalf(t, c.want, d.date(start.Add(c.steady), start.Add(c.wall)).Sub(start), "%v on the steady clock, %v on the wall", c.steady, c.wall)
	}
	now := time.Now()
	d = Dates{start: now}
	if got := d.Of(now.Add(time.Minute)); !got.Equal(now.Add(time.Minute)) {
		t.Errorf("%v, want %v", got, now.Add(time.Minute))
	}
}
