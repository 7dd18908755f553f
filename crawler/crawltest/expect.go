package crawltest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"curtsy/storage/plainly"
)

// Expect is what a correct crawler does with a site that misbehaves, as far as the site can see it. Sites with the same
// Rule share a row of the Report. Each zero field asks for nothing.
type Expect struct {
	// Rule names the row: "hostile: endless body". Required.
	Rule Rule

	// At are the targets that misbehave: until one was asked for the row is not shown. None means any request. A site
	// with Addrs is not shown until the last of them was given out.
	At []string

	// Most is how many GET requests, robots.txt included, are forgiven.
	Most int

	// Octets is how much of one answer may be taken. The system's buffers count as taken, so that over sockets a bound
	// below some hundred KiB accuses wrongly.
	Octets int64

	// Within is how long one answer may take.
	Within time.Duration

	// Fetched are targets that must be fetched all the same: the crawl goes on. Rules.Partial forgives them.
	Fetched []string

	// Left are targets that must not be asked for. One that ends in "/" stands for all that it begins.
	Left []string

	// Fields are header fields that no request may carry.
	Fields []string

	// Closed says that nothing at all may be asked of the site under its own name: its address is not public. Over
	// loopback, where addresses tell nothing, it has no effect.
	Closed bool
}

// Hostile judges what the sites with an Expect saw: a row for each of their rules, in the order of the web.
func (t *Trial) Hostile() []Row {
	var rules []Rule
	sites := map[Rule][]*host{}
	for _, h := range t.web.order {
		if e := h.now().Expect; e != nil {
			if sites[e.Rule] == nil {
				rules = append(rules, e.Rule)
			}
			sites[e.Rule] = append(sites[e.Rule], h)
		}
	}
	rows := make([]Row, 0, len(rules))
	for _, rule := range rules {
		var found []Finding
		var sum sighting
		for _, h := range sites[rule] {
			s := t.see(h)
			sum.add(s)
			found = append(found, s.found...)
		}
		rows = append(rows, Sum(rule, sum.facts, sum.String(), InOrder(found)))
	}
	return rows
}

// sighting is what one site, or all of a rule, saw of the crawler.
type sighting struct {
	shown    bool
	facts    int // that the rule was held against; none while the row is not shown
	sites    int
	requests int
	lookups  int
	octets   int64         // most of one answer
	longest  time.Duration // of one answer
	found    []Finding
}

func (s *sighting) add(o sighting) {
	if !o.shown {
		return
	}
	s.sites++
	s.facts += o.requests + o.lookups
	s.requests += o.requests
	s.lookups += o.lookups
	s.octets = max(s.octets, o.octets)
	s.longest = max(s.longest, o.longest)
}

func (s sighting) String() string {
	evidence := plainly.Count(s.requests, "request")
	if s.sites > 1 {
		evidence += " at " + plainly.Count(s.sites, "host")
	}
	if s.lookups > 0 {
		evidence += ", " + plainly.Count(s.lookups, "look-up")
	}
	return fmt.Sprintf("%s, at most %s and %s each", evidence, plainly.RoughSize(s.octets), Seconds(s.longest))
}

// see holds what one site saw against what it expects.
func (t *Trial) see(h *host) sighting {
	site := h.now()
	e := site.Expect
	s := sighting{lookups: h.lookups()}
	at := site.Addrs != nil && s.lookups >= len(site.Addrs)
	fault := func(x *Exchange, format string, args ...any) { s.found = append(s.found, t.Find(x, format, args...)) }
	for _, x := range t.hosts[h.name] {
		s.requests++
		at = at || site.Addrs == nil && len(e.At) == 0 ||
			slices.ContainsFunc(e.At, func(target string) bool { return Key(target) == x.key })
		s.octets = max(s.octets, x.Octets)
		if !x.End.IsZero() {
			s.longest = max(s.longest, x.End.Sub(x.Start))
		}
		if e.Closed && h.port != "" && strings.HasSuffix(x.by, ":"+h.port) {
			continue // over loopback
		}
		switch {
		case e.Closed:
			fault(x, "though %s is not a public address", h.name)
		case e.Most > 0 && s.requests == e.Most+1:
			fault(x, "is request %d at this host; %d are forgiven", s.requests, e.Most)
		}
		if e.Octets > 0 && x.Octets > e.Octets {
			fault(x, "took %s of the answer; %s are enough", plainly.RoughSize(x.Octets), plainly.RoughSize(e.Octets))
		}
		if e.Within > 0 && (x.End.IsZero() || x.End.Sub(x.Start) > e.Within) {
			fault(x, "was not over within %v", e.Within)
		}
		if slices.ContainsFunc(e.Left, func(left string) bool { return covers(left, x.key) }) {
			fault(x, "though it is forbidden")
		}
		for _, field := range e.Fields {
			if x.Header.Get(field) != "" {
				fault(x, "with a %s field", field)
			}
		}
	}
	s.shown = at && !e.Closed
	if s.shown && !t.Rules.Partial {
		s.found = append(s.found, t.missing(h, e.Fetched)...)
	}
	return s
}

// covers reports whether a key is a target, or below one that ends in a slash.
func covers(target, k string) bool {
	target = Key(target)
	return k == target || target != "/" && strings.HasSuffix(target, "/") && strings.HasPrefix(k, target)
}

// missing finds the targets of a host that were never fetched.
func (t *Trial) missing(h *host, targets []string) []Finding {
	var found []Finding
	for _, target := range targets {
		k := Key(target)
		if !slices.ContainsFunc(t.hosts[h.name], func(x *Exchange) bool {
			return x.key == k && x.Method == http.MethodGet && !x.failed && !x.Cut && !x.End.IsZero()
		}) {
			found = append(found, Finding{Host: h.name, Target: k, Text: "never fetched, though it is sound and linked"})
		}
	}
	return found
}
