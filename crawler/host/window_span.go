package host

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // Windows, and small images, have no zones of their own
)

// A Span is a part of the days of a week.
type Span struct {
	days     [7]bool // on which it begins
	from, to int     // minutes since midnight; to is no more than from when the span goes over midnight
	zone     *time.Location
}

// dayMinutes is how many minutes the clock of a day shows.
const dayMinutes = 24 * 60

// shape is that of a span: days, two times of a day, a zone. People write spaces where they like.
var shape = regexp.MustCompile(`^\s*(?:([\pL][\pL\s,–-]*?)\s+)?(\d{1,2}:\d{2})\s*[-–]\s*(\d{1,2}:\d{2})(?:\s+(\S+))?\s*$`)

// ParseSpan reads a span: "22:00-06:00 Europe/Berlin", "Mon-Fri 22:00-06:00 Europe/Berlin", "Sat,Sun 00:00-24:00". Without days
// it begins on each, and without a zone it is in UTC.
func ParseSpan(text string) (s Span, err error) {
	m := shape.FindStringSubmatch(text)
	if m == nil {
		return s, fmt.Errorf("%q: write days, if not all, two times of a day with a dash, and a zone, if not UTC: \"Mon-Fri 22:00-06:00 Europe/Berlin\"", text)
	}
	if s.days, err = parseDays(m[1]); err == nil {
		s.from, err = minute(m[2])
	}
	if err == nil {
		s.to, err = minute(m[3])
	}
	if err == nil {
		err = s.check()
	}
	if err == nil {
		s.zone, err = zone(m[4])
	}
	if err != nil {
		return Span{}, fmt.Errorf("%q: %w", text, err)
	}
	return s, nil
}

// check refuses times that hold no minute, or that people may mean either way.
func (s Span) check() error {
	switch {
	case s.from == s.to || s.from == dayMinutes:
		return fmt.Errorf("from %s to %s no time is left: the window would never open; write 00:00-24:00 for a whole day", clock(s.from), clock(s.to))
	case s.to == 0:
		return fmt.Errorf("write %s-24:00 for the end of the day", clock(s.from))
	}
	return nil
}

// minute reads a time of the day; 24:00 is its end.
func minute(text string) (int, error) {
	if text == "24:00" {
		return dayMinutes, nil
	}
	at, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%s is not a time of day; write one from 00:00 to 24:00", text)
	}
	return at.Hour()*60 + at.Minute(), nil
}

// names are those of the days, as time.Weekday counts them.
var names = [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// parseDays reads days: "Mon-Fri", "Sat,Sun".
func parseDays(text string) (days [7]bool, err error) {
	if text == "" {
		for i := range days {
			days[i] = true
		}
		return days, nil
	}
	for _, part := range strings.Split(strings.ReplaceAll(text, "–", "-"), ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := day(first)
		to := from
		if err == nil && isRange {
			to, err = day(last)
		}
		if err != nil {
			return days, err
		}
		for d := from; ; d = (d + 1) % 7 {
			days[d] = true
			if d == to {
				break
			}
		}
	}
	return days, nil
}

// day reads the name of a day, of which three letters are enough.
func day(text string) (int, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	for i := range names {
		if whole := strings.ToLower(time.Weekday(i).String()); len(text) >= 3 && strings.HasPrefix(whole, text) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%q is not a day; write Mon, Tue, Wed, Thu, Fri, Sat, Sun, a range (Mon-Fri) or a list (Sat,Sun)", text)
}

// Holds reports whether the clock shows a time in s at an instant.
func (s Span) Holds(t time.Time) bool {
	t = t.In(s.zone)
	at, today := t.Hour()*60+t.Minute(), t.Weekday()
	if s.from < s.to {
		return s.days[today] && at >= s.from && at < s.to
	}
	return s.days[today] && at >= s.from || s.days[(today+6)%7] && at < s.to
}

// String writes s as Parse reads it, in one way.
func (s Span) String() string {
	if s.zone == nil {
		return ""
	}
	days := ""
	if slices.Contains(s.days[:], false) {
		days = s.dayNames() + " "
	}
	return days + clock(s.from) + "-" + clock(s.to) + " " + s.zone.String()
}

// dayNames are the days, from Monday on; three in a row or more are a range.
func (s Span) dayNames() string {
	var parts []string
	for i := 0; i < 7; i++ {
		last := i
		for last < 7 && s.days[(last+1)%7] {
			last++
		}
		switch first, n := names[(i+1)%7], last-i; {
		case n == 0:
			continue
		case n < 3:
			parts = append(parts, first)
			continue
		default:
			parts = append(parts, first+"-"+names[last%7])
			i = last
		}
	}
	return strings.Join(parts, ",")
}

func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

// zone is the clock of a name; UTC without one. "Local" is none: it would be another one on another machine.
func zone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "UTC") || name == "Z" {
		return time.UTC, nil
	}
	if !strings.EqualFold(name, "local") {
		if at, err := time.LoadLocation(name); err == nil {
			return at, nil
		}
	}
	return nil, fmt.Errorf("no time zone %q; write one like Europe/Berlin, America/New_York, Asia/Tokyo or UTC", name)
}
