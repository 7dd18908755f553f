package report

import "testing"

// The axis of a count has whole numbers, each where its bar ends.
func TestTheAxisOfACountHasWholeNumbers(t *testing.T) {
	for most, want := range map[int64][]string{1: {"1"}, 2: {"2", "1"}, 3: {"3", "1"}, 7: {"7", "3"}, 1023: {"1\u202f023", "511"}} {
		c := newChart("x", "y")
		c.heights(most)
		if len(c.Y) != len(want) {
			t.Fatalf("%d: %+v", most, c.Y)
		}
		for i, tick := range c.Y {
			if tick.Label != want[i] {
				t.Errorf("%d: %q, want %q", most, tick.Label, want[i])
			}
		}
		if len(c.Y) == 2 {
			c.bar(0, 10, float64(most/2)/float64(most), false, "")
			if d := c.Bars[0].Y - c.Y[1].At; d > 0.2 || d < -0.2 {
				t.Errorf("%d: the tick is at %v, a bar of that height ends at %v", most, c.Y[1].At, c.Bars[0].Y)
			}
		}
	}
}
