package crawltest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"curtsy/storage/plainly"
)

// Expect describes the visible behaviour of a correct crawler at a site that misbehaves. Sites with the
// same Rule share a row of the Report. A zero field has no demand.
type Expect struct {
	// Rule names the row: "hostile: endless body". Required.
	Rule Rule

	// At are the targets that misbehave: the row is not shown until one is requested, and on a site with Addrs not until
	// the last address is given out. Empty means any request.
	At []string

	// Most is the allowed number of requests, robots.txt included.
	Most int

	// Octets is the most bytes of one response that the client may take. The system's buffers count, so that over sockets
	// a bound below some hundred KiB accuses wrongly.
	Octets int64

	// Within is the longest time of one response.
	Within time.Duration

	// Fetched are targets that must be fetched nevertheless, except with Rules.Partial.
	Fetched []string

	// Left are targets that must not be requested. One that ends in "/" is a prefix.
	Left []string

	// Fields are header fields that no request may carry.
	Fields []string

	// Closed forbids all requests under the site's own name: its address is not public. It has no effect over loopback.
	Closed bool
}

// Hostile returns a row for each rule of the sites' Expects, in the order of the web.
func (t *Trial) Hostile() []Row {
	var rules []Rule
	sites := map[Rule][]*host{}
	for _, h := range t.Web.order {
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

// sighting sums up the requests to the sites of one rule.
type sighting struct {
	shown    bool
	facts    int
	sites    int
	requests int
	lookups  int
	octets   int64         // most of one response
	longest  time.Duration // of one response
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

// see checks one site's log against its Expect.
func (t *Trial) see(h *host) sighting {
	site := h.now()
	e := site.Expect
	s := sighting{lookups: h.lookups()}
	at := site.Addrs != nil && s.lookups >= len(site.Addrs)
	fault := func(x *Exchange, format string, args ...any) { s.found = append(s.found, t.Find(x, format, args...)) }
	for _, x := range t.Hosts[h.name] {
		s.requests++
		at = at || site.Addrs == nil && len(e.At) == 0 ||
			slices.ContainsFunc(e.At, func(target string) bool { return Key(target) == x.Key })
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
		if slices.ContainsFunc(e.Left, func(left string) bool { return covers(left, x.Key) }) {
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

// covers reports whether k is target, or below it if that ends in a slash.
func covers(target, k string) bool {
	target = Key(target)
	return k == target || target != "/" && strings.HasSuffix(target, "/") && strings.HasPrefix(k, target)
}

func (t *Trial) missing(h *host, targets []string) []Finding {
	var found []Finding
	for _, target := range targets {
		k := Key(target)
		if !slices.ContainsFunc(t.Hosts[h.name], func(x *Exchange) bool {
			return x.Key == k && x.Method == http.MethodGet && !x.failed && !x.Cut && !x.End.IsZero()
		}) {
			found = append(found, Finding{Host: h.name, Target: k, Text: "never fetched, though it is sound and linked"})
		}
	}
	return found
}
