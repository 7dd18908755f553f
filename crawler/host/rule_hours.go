package host

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// span is a part of the day in minutes since midnight, UTC. One whose end is not after its beginning goes over midnight.
type span struct{ from, to int }

// hours are parts of the day, of which one must hold.
type hours []span

// parseHours reads parts of the day: "22:00-06:00".
func parseHours(texts []string) (h hours, err error) {
	for _, text := range texts {
		from, to, ok := strings.Cut(text, "-")
		var s span
		if ok {
			if s.from, err = minute(strings.TrimSpace(from)); err == nil {
				s.to, err = minute(strings.TrimSpace(to))
			}
		}
		if !ok || err != nil || s.from == dayMinutes || s.from == s.to {
			return nil, fmt.Errorf("%q: write two times of a day (UTC) with a dash: 22:00-06:00", text)
		}
		h = append(h, s)
	}
	return h, nil
}

// holds reports whether a minute of the day is within one of the spans.
func (h hours) holds(m int) bool {
	for _, s := range h {
		if s.from < s.to && m >= s.from && m < s.to || s.from > s.to && (m >= s.from || m < s.to) {
			return true
		}
	}
	return false
}

// Closed is how long a host may not be asked from now on, by its hours; zero when it may be. Hours that are never open at
// once close it for a day at a time.
func (t Overrides) Closed(now time.Time) time.Duration {
	now = now.UTC()
	open := func(m int) bool {
		return !slices.ContainsFunc(t.hours, func(h hours) bool { return !h.holds(m % dayMinutes) })
	}
	at := now.Hour()*60 + now.Minute()
	for wait := range dayMinutes {
		if open(at + wait) {
			if wait == 0 {
				return 0
			}
			return now.Truncate(time.Minute).Add(time.Duration(wait) * time.Minute).Sub(now)
		}
	}
	return 24 * time.Hour
}

// Open is which share of the day a host may be asked in.
func (t Overrides) Open() float64 {
	n := 0
	for m := range dayMinutes {
		if !slices.ContainsFunc(t.hours, func(h hours) bool { return !h.holds(m) }) {
			n++
		}
	}
	return float64(n) / dayMinutes
}

// Timed reports whether there are hours at all.
func (t Overrides) Timed() bool { return len(t.hours) > 0 }
