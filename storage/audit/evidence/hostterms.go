package evidence

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a crawl says that it keeps with some hosts beside a pause. What cannot be read binds nobody.

// HostHours are the parts of the day in which a crawl says it asks some hosts, in minutes since midnight, UTC.
type HostHours struct {
	Hosts string // as HostDelay has them
	Spans [][2]int
}

// HostDaily is how many requests within 24 hours a crawl says it sends to each of some hosts at most.
type HostDaily struct {
	Hosts string
	Most  int
}

const dayMinutes = 24 * 60

// hostHours reads some: "22:00-06:00,12:00-13:00 *.example.org".
func hostHours(s string) (h HostHours, ok bool) {
	spans, hosts, ok := strings.Cut(s, " ")
	h.Hosts = strings.ToLower(hosts)
	for _, span := range strings.Split(spans, ",") {
		from, to, _ := strings.Cut(span, "-")
		a, readA := minute(from)
		b, readB := minute(to)
		if !readA || !readB {
			return h, false
		}
		h.Spans = append(h.Spans, [2]int{a, b})
	}
	return h, ok && hosts != ""
}

func minute(s string) (int, bool) {
	hour, minutes, ok := strings.Cut(s, ":")
	h, err1 := strconv.Atoi(hour)
	m, err2 := strconv.Atoi(minutes)
	return h*60 + m, ok && err1 == nil && err2 == nil && h >= 0 && m >= 0 && m < 60 && h*60+m <= dayMinutes
}

// hostDaily reads one: "500 *.example.org".
func hostDaily(s string) (d HostDaily, ok bool) {
	n, hosts, ok := strings.Cut(s, " ")
	most, err := strconv.Atoi(n)
	return HostDaily{strings.ToLower(hosts), most}, ok && err == nil && most > 0 && hosts != ""
}

// Hours are the terms of those that bind the host of an authority, and are closed at t; nil when it may be asked.
func (in *Info) Hours(authority string, t time.Time) *HostHours {
	t = t.UTC()
	at := t.Hour()*60 + t.Minute()
	for i := range in.HostHours {
		h := &in.HostHours[i]
		if !about(h.Hosts, authority) {
			continue
		}
		open := false
		for _, s := range h.Spans {
			open = open || s[0] < s[1] && at >= s[0] && at < s[1] || s[0] >= s[1] && (at >= s[0] || at < s[1])
		}
		if !open {
			return h
		}
	}
	return nil
}

// Daily is how many requests within 24 hours the crawl says it sends to the host of an authority at most; zero for no limit.
func (in *Info) Daily(authority string) (n int) {
	for _, d := range in.HostDaily {
		if about(d.Hosts, authority) && (n == 0 || d.Most < n) {
			n = d.Most
		}
	}
	return n
}

// about reports whether a name, "*.example.org" or "*" is about the host of an authority.
func about(hosts, authority string) bool {
	_, host, _ := strings.Cut(authority, "://")
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	below, wild := strings.CutPrefix(hosts, "*")
	return wild && strings.HasSuffix(host, below) && len(host) > len(below) || host == hosts
}

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
