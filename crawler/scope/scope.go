package scope

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"curtsy/frontier/canon"
)

// Scope judges candidates. It is safe for concurrent use.
type Scope struct {
	cfg              Config
	include, exclude []*regexp.Regexp
	accept, reject   kinds
	hosts            []hostPatterns
	trap             map[string]int
	rules            []rule // the active ones

	places *places // shared with those that With makes of it
}

// Candidate is a discovered URL. The zero values are those of a link in a seed.
type Candidate struct {
	URL      canon.URL
	Depth    int  // links from the seed, redirects and requisites not counted
	Embeds   int  // requisite steps in a row that led here
	Away     int  // those of them that led off the scope, this one included
	Embed    bool // found as a requisite, or the target of a requisite's redirect
	Redirect bool // the target of a redirect
	Seed     bool // typed by the operator or, with Redirect, at the end of redirects from there
	Map      bool // a sitemap: named by robots.txt, by the operator, or by another one
	Script   bool // named by a script
	NoFollow bool // found as a link with rel=nofollow, or on a page with nofollow for all its links
}

type Verdict struct {
	In       bool
	Rule     string // the name of the rule that decided: "scope:host", "trap:segments"
	Timeless bool   // no later candidate with this URL can be in: the refusal may enter the seen-set
}

// New returns the scope of c and the seeds. Its error names the invalid setting.
func New(c Config, seeds []canon.URL) (*Scope, error) {
	c, err := c.check()
	if err != nil {
		return nil, err
	}
	s := &Scope{cfg: c, places: newPlaces(c)}
	if s.include, err = compile("include", c.Include); err != nil {
		return nil, err
	}
	if s.exclude, err = compile("exclude", c.Exclude); err != nil {
		return nil, err
	}
	if s.hosts, err = compileHosts(c.Hosts.Patterns()); err != nil {
		return nil, err
	}
	if s.accept, err = parseKinds("accept", c.Accept); err != nil {
		return nil, err
	}
	if s.reject, err = parseKinds("reject", c.Reject); err != nil {
		return nil, err
	}
	if s.trap, err = c.traps(); err != nil {
		return nil, err
	}
	for _, r := range s.table() {
		if r.active {
			s.rules = append(s.rules, r)
		}
	}
	for _, u := range seeds {
		s.places.add(u)
	}
	return s, nil
}

// Extend widens the scope as if u were a seed, for the end of a seed's redirects. It does not make u itself acceptable; Candidate.Seed
// does.
func (s *Scope) Extend(u canon.URL) {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	s.places.add(u)
}

// With returns a scope with other patterns. Extending one extends both.
func (s *Scope) With(include, exclude []string) (*Scope, error) {
	c := s.cfg
	c.Include, c.Exclude = include, exclude
	changed, err := New(c, nil)
	if err != nil {
		return nil, err
	}
	changed.places = s.places
	return changed, nil
}

func (s *Scope) Judge(c Candidate) Verdict {
	for i := range s.rules {
		switch r := &s.rules[i]; r.judge(c) {
		case accept:
			return Verdict{In: true, Rule: r.name}
		case refuse:
			return Verdict{Rule: r.name, Timeless: r.timeless}
		}
	}
	panic("scope: the last rule had no opinion")
}

// Rules returns the names of the active rules in order.
func (s *Scope) Rules() []string {
	names := make([]string, len(s.rules))
	for i, r := range s.rules {
		names[i] = r.name
	}
	return names
}

// seedsHost reports whether u is on a host of the seeds, with RequisitesHost.
func (s *Scope) seedsHost(u canon.URL) bool {
	s.places.mu.RLock()
	defer s.places.mu.RUnlock()
	_, ok := s.places.hosts[HostOf(u)]
	return ok
}

func (s *Scope) holds(u canon.URL) bool {
	s.places.mu.RLock()
	defer s.places.mu.RUnlock()
	return s.places.hold(u)
}

// Opinion is the opinion of one rule.
type Opinion struct {
	Rule string // its name
	Says string // one of the words below
}

// The opinions of a rule.
const (
	SaysIn      = "in"
	SaysOut     = "out"
	SaysNothing = "no opinion"
)

// Explain returns the verdict of Judge, and the opinions in order up to the one that decides. Inactive rules are omitted.
func (s *Scope) Explain(c Candidate) (Verdict, []Opinion) {
	var asked []Opinion
	for i := range s.rules {
		r := &s.rules[i]
		switch r.judge(c) {
		case accept:
			return Verdict{In: true, Rule: r.name}, append(asked, Opinion{r.name, SaysIn})
		case refuse:
			return Verdict{Rule: r.name, Timeless: r.timeless}, append(asked, Opinion{r.name, SaysOut})
		}
		asked = append(asked, Opinion{r.name, SaysNothing})
	}
	panic("scope: the last rule had no opinion")
}

// Covers reports whether a link to u is in by its place and Include. A requisite that is not covered is a step off the scope.
func (s *Scope) Covers(u canon.URL) bool {
	return s.holds(u) && (len(s.include) == 0 || anyMatch(s.include, u.String()))
}

// Reaches reports whether a link or sitemap entry on the host of u may be in by its place, and by a sample of hosts.
// With ModeSeeds none is.
func (s *Scope) Reaches(u canon.URL) bool {
	if s.cfg.Sample.Of == SampleHosts && !s.cfg.Sample.Holds(u) {
		return false
	}
	s.places.mu.RLock()
	defer s.places.mu.RUnlock()
	switch s.places.mode {
	case ModeSeeds:
		return false
	case ModePrefix:
		return len(s.places.dirs[HostOf(u)]) > 0
	}
	return s.places.hold(u)
}

const maxPeriod = 4

// segments counts the segments of a path, without an empty last one.
func segments(path string) int {
	n := strings.Count(path, "/")
	if strings.HasSuffix(path, "/") {
		n--
	}
	return n
}

// encodings reports whether s has "%" followed by n times "25".
func encodings(s string, n int) bool {
	for {
		_, rest, found := strings.Cut(s, "%25")
		if !found {
			return false
		}
		times := 1
		for strings.HasPrefix(rest, "25") {
			times, rest = times+1, rest[2:]
		}
		if times >= n {
			return true
		}
		s = rest
	}
}

// cycles reports whether path repeats a cycle of period segments n times in a row. Segments of a longer cycle must differ, and one
// must count: tiles and dates repeat short segments and numbers, as in /0/0/0/0. It reads the path once: n cycles are
// (n-1)·period segments in a row that equal the one a period before.
func cycles(path string, period, n int) bool {
	var last [maxPeriod]string
	same := 0
	for i := 0; path != "" && path != "/"; i++ {
		segment := path[1:]
		end := strings.IndexByte(segment, '/')
		if end < 0 {
			end = len(segment)
		}
		segment, path = segment[:end], segment[end:]
		if i >= period && last[i%period] == segment {
			same++
		} else {
			same = 0
		}
		last[i%period] = segment
		if same >= (n-1)*period && isCycle(last[:period]) {
			return true
		}
	}
	return false
}

// isCycle reports whether a segment of a cycle counts, and whether it is not a shorter cycle.
func isCycle(cycle []string) bool {
	counts, varied := false, len(cycle) == 1
	for _, s := range cycle {
		counts = counts || len(s) > 2 && strings.Trim(s, "0123456789") != ""
		varied = varied || s != cycle[0]
	}
	return counts && varied
}

// places are in scope by the seeds.
type places struct {
	mode Mode

	mu    sync.RWMutex
	set   map[string]struct{} // hosts, registrable domains or the keys of URLs, as the mode has it
	dirs  map[string][]string // ModePrefix: of each host the directories, sorted, none within another
	hosts map[string]struct{} // RequisitesHost: the hosts of the seeds; else nil
}

func newPlaces(c Config) *places {
	p := &places{mode: c.Mode, set: map[string]struct{}{}, dirs: map[string][]string{}}
	if c.Requisites == RequisitesHost {
		p.hosts = map[string]struct{}{}
	}
	return p
}

func (p *places) add(u canon.URL) {
	if p.hosts != nil {
		p.hosts[strings.Clone(HostOf(u))] = struct{}{}
	}
	switch p.mode {
	case ModeHost:
		p.set[strings.Clone(HostOf(u))] = struct{}{}
	case ModeDomain:
		p.set[strings.Clone(u.RegistrableDomain())] = struct{}{}
	case ModeSeeds:
		p.set[u.Key()] = struct{}{}
	case ModePrefix:
		path := keyPath(u)
		host := strings.Clone(HostOf(u))
		p.dirs[host] = addDir(p.dirs[host], strings.Clone(path[:strings.LastIndexByte(path, '/')+1]))
	}
}

func (p *places) hold(u canon.URL) bool {
	var ok bool
	switch p.mode {
	case ModeHost:
		_, ok = p.set[HostOf(u)]
	case ModeDomain:
		_, ok = p.set[u.RegistrableDomain()]
	case ModeSeeds:
		_, ok = p.set[u.Key()]
	case ModePrefix:
		ok = inDirs(p.dirs[HostOf(u)], keyPath(u))
	default:
		ok = true
	}
	return ok
}

// HostOf returns host and port without "www." and a default port.
func HostOf(u canon.URL) string {
	host := u.Authority().HostPort()
	// "www.test" is a separate name: without "www." only a suffix would remain.
	if rest, ok := strings.CutPrefix(host, "www."); ok && strings.IndexByte(rest, '.') >= 0 {
		return rest
	}
	return host
}

// addDir adds a directory to a sorted list without nested ones.
func addDir(dirs []string, dir string) []string {
	if inDirs(dirs, dir) {
		return dirs
	}
	dirs = slices.DeleteFunc(dirs, func(d string) bool { return strings.HasPrefix(d, dir) })
	at, _ := slices.BinarySearch(dirs, dir)
	return slices.Insert(dirs, at, dir)
}

// inDirs reports whether path is in one of the directories, which can only be the last one that sorts before it.
func inDirs(dirs []string, path string) bool {
	at, found := slices.BinarySearch(dirs, path)
	return found || at > 0 && strings.HasPrefix(path, dirs[at-1])
}
