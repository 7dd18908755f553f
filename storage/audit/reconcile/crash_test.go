package reconcile

import (
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
)

// A kill tears the end off, and nothing out of the middle: of an authority that has a later exchange on both sides,
// nothing before it can be lost.
func TestACrashExcusesNothingBeforeWhatIsThere(t *testing.T) {
	base := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	for name, c := range map[string]struct {
		own  bool
		lost int
		want int // violations
	}{
		"the last":                     {lost: 9, want: 0},
		"one before":                   {lost: 4, want: 1},
		"one before, of several lanes": {own: true, lost: 4, want: 0},
	} {
		var es []*evidence.Exchange
		var lines []storage.Line
		for i := range 10 {
			e, l := pair(i, base.Add(time.Duration(i)*2*time.Second))
			l.Own, e.Line.Own = c.own, c.own
			es, lines = append(es, e), append(lines, l)
		}
		left := append(append([]*evidence.Exchange{}, es[:c.lost]...), es[c.lost+1:]...)
		_, found := compared(t, Options{Dir: written(t, true, lines...)}, left, nil)
		n := 0
		for _, f := range found {
			if !f.Note {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%s: %d violations, want %d: %+v", name, n, c.want, found)
		}
	}
}
