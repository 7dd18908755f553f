// Package hostrule defines an operator's settings for some hosts, and the windows in which a crawl runs.
//
// Every rule that matches a host binds: the longest delay counts, the smallest budget, and the hours that all of them
// allow.
package hostrule

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for Windows and small images, which lack it

	"curtsy/frontier/canon"
)

// Rule is a setting for the hosts that it matches. The zero value of each field except Match means no limit.
type Rule struct {
	// Match is a host name, "www.example.org", or "*.example.org" for all hosts below but not the name itself, or "*" for
	// all. Ports do not count.
	Match string

	Delay         time.Duration // minimum delay between two exchanges
	MaxPerHost    int64         // HTML pages of each host
	PerHostPerDay int64         // requests to each host within 24 hours

	Include, Exclude []string // regular expressions (RE2) of URLs, as in the scope
	Hours            []string // of the day, in UTC, in which requests are allowed: "22:00-06:00"
}

func (r Rule) Equal(other Rule) bool {
	return r.Match == other.Match && r.Delay == other.Delay && r.MaxPerHost == other.MaxPerHost && r.PerHostPerDay == other.PerHostPerDay &&
		slices.Equal(r.Include, other.Include) && slices.Equal(r.Exclude, other.Exclude) && slices.Equal(r.Hours, other.Hours)
}

// MaxRules bounds the rules of a crawl: the archive lists each.
const MaxRules = 64

// Wrong returns all errors in a rule by key. floor is the minimum delay for third-party hosts.
func (r Rule) Wrong(floor time.Duration) (wrong []*fieldError) {
	add := func(key string, err error) {
		if err != nil {
			wrong = append(wrong, &fieldError{key, err})
		}
	}
	add("match", checkMatch(r.Match))
	if r.Delay != 0 && r.Delay < floor {
		add("delay", fmt.Errorf("%v is below the floor of %v that holds for every host (politeness rule 9): a host's own setting only lengthens its pace", r.Delay, floor))
	}
	for _, p := range r.Include {
		add("include", checkPattern(p))
	}
	for _, p := range r.Exclude {
		add("exclude", checkPattern(p))
	}
	_, err := parseHours(r.Hours)
	add("hours", err)
	return wrong
}

func checkPattern(p string) error {
	if _, err := regexp.Compile(p); err != nil {
		return fmt.Errorf("%q: %w", p, err)
	}
	return nil
}

// fieldError is an error in a key of a rule.
type fieldError struct {
	Key string
	Err error
}

func (e *fieldError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the error without the key.
func (e *fieldError) Unwrap() error { return e.Err }

func checkMatch(m string) error {
	name := strings.TrimPrefix(m, "*.")
	switch {
	case m == "":
		return errors.New("it is missing: write the name of a host, or *.example.org for all below it")
	case m == "*":
		return nil
	case strings.ContainsAny(name, "*/:@ ") && !isAddr(name):
		return fmt.Errorf("%q: write the name of a host, without scheme, port and path, or *.example.org for all below it", m)
	}
	if _, err := hostOf(name); err != nil {
		return fmt.Errorf("%q is not a host name", m)
	}
	return nil
}

func isAddr(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func hostOf(name string) (string, error) {
	if a, err := netip.ParseAddr(name); err == nil && a.Is6() {
		name = "[" + name + "]"
	}
	u, err := canon.Parse("http://" + name + "/")
	if err != nil {
		return "", err
	}
	return u.Host(), nil
}

// Name returns Match in the canonical spelling of hosts.
func (r Rule) Name() string {
	below, wild := strings.CutPrefix(r.Match, "*.")
	name, err := hostOf(below)
	switch {
	case r.Match == "*" || err != nil:
		return r.Match
	case wild:
		return "*." + name
	}
	return name
}

// Matches reports whether a rule applies to a host, by its name.
func (r Rule) Matches(host string) bool {
	if r.Match == "*" {
		return true
	}
	below, wild := strings.CutPrefix(r.Match, "*.") // no address begins with it
	name := below
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		var err error
		if name, err = hostOf(below); err != nil {
			return false
		}
	}
	if wild {
		return strings.HasSuffix(host, "."+name)
	}
	return host == name
}

// Rules are the rules of a crawl.
type Rules []Rule

// Check returns the first error in a rule, or nil.
func (rs Rules) Check(floor time.Duration) error {
	if len(rs) > MaxRules {
		return fmt.Errorf("[[host]]: %d tables are more than %d; use *.example.org for many hosts", len(rs), MaxRules)
	}
	for i, r := range rs {
		if wrong := r.Wrong(floor); len(wrong) > 0 {
			return fmt.Errorf("[[host]] %d: %w", i+1, wrong[0])
		}
	}
	return nil
}

// Of returns the combined rules for a host. Check has refused invalid hours and patterns; here they are ignored.
func (rs Rules) Of(a canon.Authority) Overrides {
	var t Overrides
	if len(rs) == 0 {
		return t
	}
	for _, r := range rs {
		if !r.Matches(a.Host()) {
			continue
		}
		t.Delay = max(t.Delay, r.Delay)
		t.MaxPerHost = smaller(t.MaxPerHost, r.MaxPerHost)
		t.PerHostPerDay = smaller(t.PerHostPerDay, r.PerHostPerDay)
		if w, err := parseHours(r.Hours); err == nil && len(w) > 0 {
			t.hours = append(t.hours, w)
		}
	}
	return t
}

// Overrides are the combined rules for a host. Zero numbers mean no limit.
type Overrides struct {
	Delay                     time.Duration
	MaxPerHost, PerHostPerDay int64

	hours []Spans // all of which must be open
}

// smaller returns the smaller of two limits; zero means none.
func smaller(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Patterns returns the rules that narrow the scope.
func (rs Rules) Patterns() Rules {
	return slices.DeleteFunc(slices.Clone(rs), func(r Rule) bool { return len(r.Include) == 0 && len(r.Exclude) == 0 })
}

// parseHours parses parts of the day, in UTC: "22:00-06:00".
func parseHours(texts []string) (w Spans, err error) {
	for _, text := range texts {
		from, to, ok := strings.Cut(text, "-")
		s := Span{zone: time.UTC}
		s.days, _ = parseDays("") // every day
		if ok {
			if s.from, err = minute(strings.TrimSpace(from)); err == nil {
				s.to, err = minute(strings.TrimSpace(to))
			}
		}
		if !ok || err != nil || s.from == dayMinutes || s.from == s.to {
			return nil, fmt.Errorf("%q: write two times of a day (UTC) with a dash: 22:00-06:00", text)
		}
		w = append(w, s)
	}
	return w, nil
}

func (t Overrides) isOpen(at time.Time) bool {
	return !slices.ContainsFunc(t.hours, func(w Spans) bool { return !w.Open(at) })
}

// Closed returns how long the hours forbid requests from now on; zero if they do not. Hours that never coincide close a
// host for a day at a time.
func (t Overrides) Closed(now time.Time) time.Duration {
	if t.isOpen(now) {
		return 0
	}
	minute := now.Truncate(time.Minute)
	for wait := time.Minute; wait < 24*time.Hour; wait += time.Minute {
		if t.isOpen(minute.Add(wait)) {
			return minute.Add(wait).Sub(now)
		}
	}
	return 24 * time.Hour
}

// Open returns the share of the day that is open.
func (t Overrides) Open() float64 {
	n := 0
	for m := range dayMinutes {
		if t.isOpen(time.Unix(int64(60*m), 0)) {
			n++
		}
	}
	return float64(n) / dayMinutes
}

// Timed reports whether there are hours.
func (t Overrides) Timed() bool { return len(t.hours) > 0 }

// Span is a part of the days of a week.
type Span struct {
	days     [7]bool // on which it begins
	from, to int     // minutes since midnight; to <= from if the span extends past midnight
	zone     *time.Location
}

const dayMinutes = 24 * 60

// shape matches a span: days, two times of a day, a zone, with spaces anywhere.
var shape = regexp.MustCompile(`^\s*(?:([\pL][\pL\s,–-]*?)\s+)?(\d{1,2}:\d{2})\s*[-–]\s*(\d{1,2}:\d{2})(?:\s+(\S+))?\s*$`)

// ParseSpan parses a span: "22:00-06:00 Europe/Berlin", "Mon-Fri 22:00-06:00 Europe/Berlin", "Sat,Sun 00:00-24:00". It
// defaults to all days, and to UTC.
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

// check refuses empty and ambiguous times.
func (s Span) check() error {
	switch {
	case s.from == s.to || s.from == dayMinutes:
		return fmt.Errorf("from %s to %s no time is left: the window would never open; write 00:00-24:00 for a whole day", clock(s.from), clock(s.to))
	case s.to == 0:
		return fmt.Errorf("write %s-24:00 for the end of the day", clock(s.from))
	}
	return nil
}

// minute parses a time of day; 24:00 is its end.
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

// names are the days in the order of time.Weekday.
var names = [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// parseDays parses days: "Mon-Fri", "Sat,Sun".
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

// day parses the name of a day, of at least three letters.
func day(text string) (int, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	for i := range names {
		if whole := strings.ToLower(time.Weekday(i).String()); len(text) >= 3 && strings.HasPrefix(whole, text) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%q is not a day; write Mon, Tue, Wed, Thu, Fri, Sat, Sun, a range (Mon-Fri) or a list (Sat,Sun)", text)
}

// Holds reports whether t is in s.
func (s Span) Holds(t time.Time) bool {
	t = t.In(s.zone)
	at, today := t.Hour()*60+t.Minute(), t.Weekday()
	if s.from < s.to {
		return s.days[today] && at >= s.from && at < s.to
	}
	return s.days[today] && at >= s.from || s.days[(today+6)%7] && at < s.to
}

// String formats s for ParseSpan, in a canonical form.
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

// dayNames lists the days from Monday on, with ranges for three or more.
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

// zone returns the time zone of a name; UTC without one. It rejects "Local", which differs between machines.
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

// Spans are open during each of them, or always if there are none.
type Spans []Span

// NoWindow removes all windows.
const NoWindow = "none"

// most bounds the spans: the archive lists each.
const most = 32

// ParseSpans parses spans; NoWindow means none.
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

// Open reports whether requests are allowed at t.
func (w Spans) Open(t time.Time) bool {
	return len(w) == 0 || slices.ContainsFunc(w, func(s Span) bool { return s.Holds(t) })
}

// Texts returns the canonical form of each span.
func (w Spans) Texts() (texts []string) {
	for _, s := range w {
		texts = append(texts, s.String())
	}
	return texts
}

// String returns the canonical forms, joined by commas.
func (w Spans) String() string { return strings.Join(w.Texts(), ", ") }

// Clock formats t in the zone of the first span, for users.
func (w Spans) Clock(t time.Time) string {
	if len(w) > 0 {
		t = t.In(w[0].zone)
	}
	return t.Format("Mon 2 Jan 15:04 MST")
}

// ahead bounds the search for an opening: a weekly one within the hour that spring skips opens a week later.
const ahead = 15 * 24 * time.Hour

// Opens returns the next opening, t itself while open; false if they stay closed for two weeks, that is, forever. Zones
// differ from UTC, and change, by whole minutes.
func (w Spans) Opens(t time.Time) (at time.Time, ok bool) { return w.turns(t, true) }

// Closes returns the next closing; false for never.
func (w Spans) Closes(t time.Time) (at time.Time, ok bool) { return w.turns(t, false) }

// Within reports whether w is open only while others are, during a year from t on.
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

// Takes returns how long work takes that begins at t and needs open spans. Beyond four weeks it uses their average share.
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

// Share returns the open share of a week.
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
