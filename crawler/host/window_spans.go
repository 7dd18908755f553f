package host

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Spans are open while one of them holds. Without any they always are.
type Spans []Span

// NoWindow is the word for no window, where one is to be taken away.
const NoWindow = "none"

// most is how many spans there may be: each is named in the archive.
const most = 32

// ParseSpans reads spans. None alone is for none.
func ParseSpans(texts []string) (w Spans, err error) {
	if len(texts) == 1 && texts[0] == NoWindow {
		return nil, nil
	}
	if len(texts) > most {
		return nil, fmt.Errorf("%d windows are more than %d", len(texts), most)
	}
	for _, text := range texts {
		s, err := ParseSpan(text)
		if err != nil {
			return nil, err
		}
		w = append(w, s)
	}
	return w, nil
}

// Open reports whether something may be asked at t.
func (w Spans) Open(t time.Time) bool {
	for _, s := range w {
		if s.Holds(t) {
			return true
		}
	}
	return len(w) == 0
}

// Texts are the spans in words, each in one way.
func (w Spans) Texts() (texts []string) {
	for _, s := range w {
		texts = append(texts, s.String())
	}
	return texts
}

// String are all spans in words.
func (w Spans) String() string { return strings.Join(w.Texts(), ", ") }

// Clock is an instant as the clock of the first span shows it, for people.
func (w Spans) Clock(t time.Time) string {
	if len(w) > 0 {
		t = t.In(w[0].zone)
	}
	return t.Format("Mon 2 Jan 15:04 MST")
}

// ahead is how far openings are looked for: one that is on a single day of the week, within the hour that spring leaves out,
// opens a week later.
const ahead = 15 * 24 * time.Hour

// Opens is when spans are open next: at t if they are now. It is false if they do not open again within two weeks, which is
// never. Zones differ from UTC, and change, by whole minutes.
func (w Spans) Opens(t time.Time) (at time.Time, ok bool) { return w.turns(t, true) }

// Closes is when spans are closed next; false for never.
func (w Spans) Closes(t time.Time) (at time.Time, ok bool) { return w.turns(t, false) }

// Within reports whether spans are open only while others are, as far as a year from t on tells.
func (w Spans) Within(others Spans, t time.Time) bool {
	if len(others) == 0 || slices.Equal(w.Texts(), others.Texts()) {
		return true
	}
	t = t.Truncate(time.Minute)
	for end := t.AddDate(1, 0, 7); t.Before(end); t = t.Add(time.Minute) {
		if w.Open(t) && !others.Open(t) {
			return false
		}
	}
	return true
}

func (w Spans) turns(t time.Time, open bool) (time.Time, bool) {
	if w.Open(t) == open {
		return t, true
	}
	if len(w) == 0 {
		return t, false
	}
	for at := t.Truncate(time.Minute).Add(time.Minute); at.Sub(t) <= ahead; at = at.Add(time.Minute) {
		if w.Open(at) == open {
			return at, true
		}
	}
	return t, false
}

// Takes is how long something takes that begins at t and needs spans to be open for work. Past some weeks it goes by
// the share of the time that they are open.
func (w Spans) Takes(t time.Time, work time.Duration) time.Duration {
	if len(w) == 0 || work <= 0 {
		return work
	}
	const weeks = 4 * 7 * 24 * time.Hour
	const step = 5 * time.Minute
	var open, all time.Duration
	for ; all < weeks; all += step {
		if w.Open(t.Add(all)) {
			if open += step; open >= work {
				return all + step - (open - work)
			}
		}
	}
	if open == 0 {
		return work
	}
	return time.Duration(float64(work) * (float64(all) / float64(open)))
}

// Share is how much of a week spans are open for.
func (w Spans) Share() float64 {
	const step, week = 5 * time.Minute, 7 * 24 * time.Hour
	open, monday := 0, time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)
	for at := time.Duration(0); at < week; at += step {
		if w.Open(monday.Add(at)) {
			open++
		}
	}
	return float64(open) / float64(week/step)
}
