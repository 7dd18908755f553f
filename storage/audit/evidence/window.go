package evidence

import (
	"slices"
	"strings"
	"time"
)

// Window is a part of the days of a week in which alone a crawl says it asks anybody, by the clock of a place.
type Window struct {
	days     []string // on which it begins, in three letters
	from, to int      // minutes since midnight; to before from goes over midnight
	zone     *time.Location
}

// week are the days as a crawl writes them.
var week = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// window reads one: "Mon-Fri,Sun 22:00-06:00 Europe/Berlin". The days may be missing, which is all of them.
func window(s string) (w Window, ok bool) {
	parts := strings.Split(s, " ")
	if len(parts) == 2 {
		parts = append([]string{"Mon-Sun"}, parts...)
	}
	if len(parts) != 3 || parts[2] == "Local" {
		return w, false
	}
	for _, days := range strings.Split(parts[0], ",") {
		first, last, several := strings.Cut(days, "-")
		i, j := slices.Index(week, first), slices.Index(week, last)
		if !several {
			j = i
		}
		if i < 0 || j < i {
			return w, false
		}
		w.days = append(w.days, week[i:j+1]...)
	}
	from, to, _ := strings.Cut(parts[1], "-")
	var readFrom, readTo bool
	w.from, readFrom = minute(from)
	w.to, readTo = minute(to)
	var err error
	w.zone, err = time.LoadLocation(parts[2])
	return w, readFrom && readTo && err == nil
}

// open reports whether the clock shows a time within w.
func (w Window) open(t time.Time) bool {
	t = t.In(w.zone)
	on := func(t time.Time) bool { return slices.Contains(w.days, t.Weekday().String()[:3]) }
	at := t.Hour()*60 + t.Minute()
	if w.to > w.from {
		return on(t) && w.from <= at && at < w.to
	}
	yesterday := t.Weekday() - 1
	if yesterday < 0 {
		yesterday = time.Saturday
	}
	return on(t) && at >= w.from || at < w.to && slices.Contains(w.days, yesterday.String()[:3])
}

// Outside reports whether the crawl says that it asks nobody at t. One window that cannot be read may be open at any time.
func (in *Info) Outside(t time.Time) bool {
	if len(in.Windows) == 0 || in.anyWindow {
		return false
	}
	return !slices.ContainsFunc(in.Windows, func(w Window) bool { return w.open(t) })
}
