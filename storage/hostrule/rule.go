// Package hostrule defines what an operator sets for some hosts, and the windows in which a crawl runs.
//
// Rules only ever ask for more consideration: of all rules that match a host each binds, so the longest delay counts, the
// smallest budget, and the hours that all of them allow.
package hostrule

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // Windows, and small images, have no zones of their own

	"curtsy/frontier/canon"
)

// A Rule is what holds for the hosts that it matches. The zero value of each field but Match asks for nothing.
type Rule struct {
	// Match is the name of a host, "www.example.org", or "*.example.org" for all hosts below a name, which that name is not
	// among; or "*" for all. Ports do not count.
	Match string

	Delay         time.Duration // shortest pause between two exchanges
	MaxPerHost    int64         // HTML pages of each host
	PerHostPerDay int64         // requests to each host within 24 hours

	Include, Exclude []string // regular expressions (RE2) of URLs, as those of the scope
	Hours            []string // of the day in which the host may be asked: "22:00-06:00", in UTC
}

// Equal reports whether two rules are the same.
func (r Rule) Equal(other Rule) bool {
	return r.Match == other.Match && r.Delay == other.Delay && r.MaxPerHost == other.MaxPerHost && r.PerHostPerDay == other.PerHostPerDay &&
		slices.Equal(r.Include, other.Include) && slices.Equal(r.Exclude, other.Exclude) && slices.Equal(r.Hours, other.Hours)
}

// MaxRules is how many rules a crawl may have: each is named in the archive.
const MaxRules = 64

// Wrong says all that is wrong with a rule, key by key. floor is the shortest pause there is for the hosts of others.
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

// A FieldError is what is wrong with a key of a rule.
type fieldError struct {
	Key string
	Err error
}

func (e *fieldError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
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

// Name is Match as the names of hosts are written in URLs.
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

// Matches reports whether a rule is for a host, by its name.
func (r Rule) Matches(host string) bool {
	if r.Match == "*" {
		return true
	}
	below, wild := strings.CutPrefix(r.Match, "*.") // no address begins like that
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

// Rules are those of a crawl. The zero value has none.
type Rules []Rule

// Check says what is wrong with the first rule that something is wrong with, or nil.
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

// Of is what holds for a host. Hours and patterns that cannot be read hold for none: Check has refused them.
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

// Overrides are what holds for a host. Zero numbers are no limits.
type Overrides struct {
	Delay                     time.Duration
	MaxPerHost, PerHostPerDay int64

	hours []Spans // of which each must be open
}

// smaller is the smaller of two limits, of which zero is none.
func smaller(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Patterns are the rules that narrow the scope.
func (rs Rules) Patterns() Rules {
	return slices.DeleteFunc(slices.Clone(rs), func(r Rule) bool { return len(r.Include) == 0 && len(r.Exclude) == 0 })
}

// parseHours reads parts of the day, in UTC: "22:00-06:00".
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

// isOpen reports whether all of the hours are open at an instant.
func (t Overrides) isOpen(at time.Time) bool {
	return !slices.ContainsFunc(t.hours, func(w Spans) bool { return !w.Open(at) })
}

// Closed is how long a host may not be asked from now on, by its hours; zero when it may be. Hours that are never open at
// once close it for a day at a time.
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

// Open is which share of the day a host may be asked in.
func (t Overrides) Open() float64 {
	n := 0
	for m := range dayMinutes {
		if t.isOpen(time.Unix(int64(60*m), 0)) {
			n++
		}
	}
	return float64(n) / dayMinutes
}

// Timed reports whether there are hours at all.
func (t Overrides) Timed() bool { return len(t.hours) > 0 }

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
