package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"curtsy/storage"
)

// Bounds of what is kept of decisions.
const (
	keptLines    = 2000 // the last decisions
	keptClasses  = 40   // of errors
	keptExamples = 3    // of each
)

// tally is what was seen of the decisions.
type tally struct {
	since  time.Time // of the first
	seen   int64     // that were read
	passed int64     // that came too fast to be read each
	errors map[string]*failing
	last   []storage.Line // the newest last
}

// failing is a class of errors.
type failing struct {
	Class    string
	Count    int64
	Last     time.Time
	Examples []storage.Line // the newest last
}

func newTally() *tally {
	return &tally{errors: map[string]*failing{}}
}

func (t *tally) add(l storage.Line) {
	if t.seen++; t.since.IsZero() {
		t.since = l.Time
	}
	if class := classOf(l); class != "" {
		t.fail(class, l)
	}
	if len(t.last) == 2*keptLines {
		t.last = append(t.last[:0], t.last[keptLines:]...)
	}
	t.last = append(t.last, l)
}

// classOf is the class of the error that a line tells of; empty where it tells of none.
func classOf(l storage.Line) string {
	switch {
	case l.Attempt == 0 && l.Status == 0:
		return "" // no exchange: a decision of ours
	case l.Status == 429 || l.Status == 408 || l.Status == 425 || l.Status >= 400 && l.Status < 500 && l.Outcome == storage.OutcomeFailed:
		return fmt.Sprintf("status %d", l.Status)
	case l.Status >= 500:
		return "5xx"
	case l.Status == 0 && l.Reason != "", l.Truncated != "":
		return cmp.Or(l.Reason, l.Truncated)
	}
	return ""
}

func (t *tally) fail(class string, l storage.Line) {
	f := t.errors[class]
	if f == nil {
		if len(t.errors) >= keptClasses { // the world has more words than we have room for
			class = "others"
			if f = t.errors[class]; f == nil {
				f = &failing{Class: class}
				t.errors[class] = f
			}
		} else {
			f = &failing{Class: class}
			t.errors[class] = f
		}
	}
	f.Count++
	f.Last = l.Time
	if len(f.Examples) == keptExamples {
		f.Examples = append(f.Examples[:0], f.Examples[1:]...)
	}
	f.Examples = append(f.Examples, l)
}

// failures are the classes, the most frequent first, apart from what goes on being counted.
func (t *tally) failures() (all []failing) {
	for _, class := range slices.Sorted(maps.Keys(t.errors)) {
		f := *t.errors[class]
		f.Examples = slices.Clone(f.Examples)
		slices.Reverse(f.Examples)
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b failing) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// newest returns at most n of the last decisions that match, the newest first.
func (t *tally) newest(n int, match func(*storage.Line) bool) (found []storage.Line) {
	for i := len(t.last) - 1; i >= max(len(t.last)-keptLines, 0) && len(found) < n; i-- {
		if match(&t.last[i]) {
			found = append(found, t.last[i])
		}
	}
	return found
}
