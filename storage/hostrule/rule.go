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

// checkMatch refuses what matches no host.
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

// hostOf writes the name of a host as URLs have it.
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
		if h, err := parseHours(r.Hours); err == nil && len(h) > 0 {
			t.hours = append(t.hours, h)
		}
	}
	return t
}

// Overrides are what holds for a host. Zero numbers are no limits.
type Overrides struct {
	Delay                     time.Duration
	MaxPerHost, PerHostPerDay int64

	hours []hours // of which each must be open
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
