package audit

import (
	"slices"
	"time"

	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
	"curtsy/storage/audit/rules"
)

// host is what is known of an authority while its exchanges go by.
type host struct {
	name string

	// The operator's own (politeness rule 18).
	proved time.Time // when its proof was last archived
	own    bool      // judged as own at some time

	// The last exchange, and until when the server asked for rest.
	met     bool
	began   time.Time // the latest start
	end     time.Time // the latest end, or the latest that is known of it
	ended   bool      // end is known
	res     time.Duration
	ahead   time.Duration // how far the clock had jumped ahead, as the crawl says of the last exchange
	told    bool          // which has metadata
	file    string        // of the exchange that ended last
	rest    time.Time
	restWhy string
	restFor int       // exchanges since, at most atKill
	restAt  time.Time // when that was said: what began before could not know

	answers     answers
	spaced      time.Duration // what RateLimit spaces requests by
	spacedUntil time.Time
	emptied     time.Duration // how long RateLimit said last that nothing is left
	spacedFor   int           // exchanges since it was said, at most atKill
	was         terms         // that were due before the last exchange
	row         pauses.Row    // its exchanges, one after the other
	lastSeen    seenAs
	latest      seenAs // the exchange that began last
	starts      starts // of answered exchanges of another crawler
	skew        gaps   // by which the dates of answers differ from the archive's

	// What may have been heard, though it need not: what stands in an answer that the crawl could not read, or that a kill
	// may have made it forget.
	mayRest  time.Time
	mayLimit [2]time.Duration
	reduced  bool // an answer of it is left out: what it asked for is not known

	backoff    time.Time // until when an error without such a word asks for rest
	backoffWhy string

	policy     policy
	learnedFor int        // exchanges since its text was learned and with that one, at most atKill+2
	forgot     bool       // a kill may have made the crawl forget it
	before     rules.Text // the text that held before this one
	asker      string     // the User-Agent that asked for robots.txt

	firstRobots time.Time // the earliest date of an exchange for its robots.txt; zero when one has none
	payload     string    // the payload digest of the last answer with a text

	run   int  // of its last exchange
	steps int  // of the clock, that are reckoned with
	lost  bool // a step made it unknown when its last exchange ended

	pages, robots, avoided int64
	violations             int64
	required               time.Duration
	requiredBy             string
	lowest                 time.Duration // of what was required
	gaps                   gaps
	unproved               []Unproved
	unprovable             int64
}

// host returns what is known of an authority, and makes it known.
func (a *audit) host(name string) *host {
	h := a.hosts[name]
	if h == nil {
		h = &host{name: name}
		a.hosts[name] = h
		h.steps = a.steps
	}
	if h.steps != a.steps {
		a.step(h)
	}
	return h
}

// unprove counts something of h that cannot be proved.
func (a *audit) unprove(h *host, what finding.Code, why string, least, most time.Duration) {
	a.r.Totals.Unprovable++
	h.unprovable++
	low, high := max(least, 0).Seconds(), max(most, 0).Seconds()
	for i := range h.unproved {
		if u := &h.unproved[i]; u.What == what && u.Why == why {
			u.Count++
			u.Least, u.Most = min(u.Least, low), max(u.Most, high)
			return
		}
	}
	h.unproved = append(h.unproved, Unproved{what, why, 1, low, high}) // as many as there are reasons in the code
}

// gaps are the pauses of a host: their number, the shortest, and enough of them for the median. When there are too many,
// every second is left out, and from then on only so many are taken.
type gaps struct {
	n      int64
	least  time.Duration
	sample []time.Duration
	stride int64
	bounds bool // some are measured from start to start
}

const maxSample = 64

func (g *gaps) add(d time.Duration) {
	if g.n == 0 || d < g.least {
		g.least = d
	}
	g.stride = max(g.stride, 1)
	if g.n%g.stride == 0 {
		g.sample = append(g.sample, d)
	}
	g.n++
	if len(g.sample) == maxSample {
		for i := range maxSample / 2 {
			g.sample[i] = g.sample[2*i]
		}
		g.sample = g.sample[:maxSample/2]
		g.stride *= 2
	}
}

// median is exact for up to maxSample pauses.
func (g *gaps) median() time.Duration {
	if len(g.sample) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(g.sample))
	if len(s)%2 == 0 {
		return (s[len(s)/2-1] + s[len(s)/2]) / 2
	}
	return s[len(s)/2]
}

// show returns h as the result shows it.
func (h *host) show() *Host {
	return &Host{
		Authority: finding.Short(h.name), Own: h.own, Pages: h.pages, Robots: h.robots, Policy: h.policy.kind.String(),
		Disallowed: h.avoided, Required: h.required.Seconds(), RequiredBy: h.requiredBy, Lowest: h.lowest.Seconds(),
		Gaps: h.gaps.n, MinGap: h.gaps.least.Seconds(), MedianGap: h.gaps.median().Seconds(), StartToStart: h.gaps.bounds,
		Dates: h.skew.n, Skew: h.skew.median().Seconds(),
		Violations: h.violations, Unprovable: h.unprovable, Why: h.unproved,
	}
}
