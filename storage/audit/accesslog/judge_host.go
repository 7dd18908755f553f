package accesslog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
)

// visited is a host while its lines are judged, in the order of their seconds.
type visited struct {
	name  string
	shown *audit.Host
	rules *rules
	pace  time.Duration
	fuzzy time.Duration // the resolution of its seconds

	policy string    // what the last answer for robots.txt makes of it: "", "rules", "none", "unreachable", "unknown"
	asked  time.Time // when robots.txt was last asked for
	absent int       // the status of the last answer that there is none
	free   int       // that of the last such answer which allowed a request
	used   bool      // the given robots.txt decided
	busy   time.Time // the last 429 or 503

	clients map[string]*client
	gaps    map[int64]int64 // how often a pause of so many seconds was met
}

// client is an address of the crawler, or the crawler, if its addresses are known.
type client struct {
	row  pauses.Row
	last time.Time
}

const (
	maxClients = 10_000 // that are kept of a host
	day        = 24 * time.Hour
	grace      = time.Minute // between a verdict and the request
	restful    = time.Minute // after a 429 or a 503, a request may be one too early
)

func (j *judge) enter(name string) *visited {
	h := &visited{name: name, shown: &audit.Host{Authority: name, StartToStart: true, Policy: "not requested"},
		rules: j.rulesOf(name), fuzzy: time.Second,
		clients: map[string]*client{}, gaps: map[int64]int64{}}
	if name == "" {
		h.shown.Authority = "the host of the log"
	}
	if j.shared(name) {
		h.fuzzy += j.o.Skew
	}
	if h.rules != nil && h.rules.delay > 0 {
		h.pace, h.shown.RequiredBy = h.rules.delay, "Crawl-delay"
	}
	if j.o.Floor > h.pace {
		h.pace, h.shown.RequiredBy = j.o.Floor, "--floor"
	}
	h.shown.Required, h.shown.Lowest = h.pace.Seconds(), h.pace.Seconds()
	return h
}

// visit judges a line.
func (j *judge) visit(h *visited, v *visit) {
	t := &j.Totals
	t.Records++
	t.Exchanges++
	if j.From.IsZero() || v.time.Before(j.From) {
		j.From = v.time
	}
	if v.time.After(j.To) {
		j.To = v.time
	}
	if v.cut {
		j.unprove(h, finding.Disallowed, "the server did not read the whole request line, so the requested URL is "+
			"unknown", 0)
		return
	}
	j.identity(h, v)
	j.paced(h, v)
	if !h.busy.IsZero() && v.time.Sub(h.busy) < restful && v.time.After(h.busy) {
		j.unprove(h, finding.RetryAfter, "requested within a minute after a 429 or a 503, and the log does not have "+
			"Retry-After", v.time.Sub(h.busy))
	}
	if v.status == 429 || v.status == 503 {
		h.busy = v.time
	}
	if path, _, _ := strings.Cut(v.target, "?"); path == "/robots.txt" {
		t.Robots++
		h.shown.Robots++
		h.learn(v)
		return
	}
	t.Pages++
	h.shown.Pages++
	j.page(h, v)
}

// learn takes an answer for robots.txt (RFC 9309 2.3.1).
func (h *visited) learn(v *visit) {
	h.asked = v.time
	switch s := v.status; {
	case s >= 200 && s < 400 && h.rules != nil: // 304 renews it, and what a redirect leads to was given
		h.policy = "rules"
	case s >= 200 && s < 400:
		h.policy = "unknown"
	case s >= 400 && s < 500 && s != 499:
		h.policy, h.absent = "none", s
	case h.policy != "rules": // 2.4: what is at hand may be used for longer while robots.txt cannot be had
		h.policy = "unreachable"
	}
	h.shown.Policy = h.policy
}

// identity checks who asks, and how.
func (j *judge) identity(h *visited, v *visit) {
	if v.method != "" && v.method != "GET" && v.method != "HEAD" {
		j.find(h, v, finding.Method, "GET or HEAD (draft-illyes-webbotauth-cbcp)", v.method)
	}
	if v.combined && !namesProduct(v.agent, j.o.Token) && (v.agent != "" || !unheard(v.status)) { // it came from an address of the crawler
		j.find(h, v, finding.UserAgent,
			"a User-Agent that names the crawler by its product token (RFC 9309 2.2.1): "+j.o.Token,
			"User-Agent: "+v.agent)
	}
}

// paced checks the pauses of a client. A line has the second in which a request began, or that in which it ended: in
// either case two of them lie as far apart as the pause that was due, at least. One that a server wrote late, since
// the crawler had cut it off, is out of place: a row is too short only if it is without one of its lines, too.
func (j *judge) paced(h *visited, v *visit) {
	who := v.remote
	if len(j.o.From) > 0 {
		who = ""
	}
	c := h.clients[who]
	if c == nil {
		if len(h.clients) >= maxClients {
			j.unprove(h, finding.Gap, "requested from too many addresses to track all", 0)
			return
		}
		c = &client{}
		h.clients[who] = c
	}
	if !c.last.IsZero() {
		gap := v.time.Sub(c.last)
		j.Totals.Gaps++
		h.shown.Gaps++
		if len(h.gaps) < maxClients {
			h.gaps[int64(gap/time.Second)]++
		}
		if h.pace > 0 {
			j.unprove(h, finding.Gap, "the log does not have the duration of requests, so no delay is known to be "+
				"long enough", gap)
		}
	}
	c.last = v.time
	if h.pace == 0 || v.status == 499 { // nginx: the client had gone, some time before
		return
	}
	due := h.pace - max(time.Millisecond, h.pace/1000)
	if s, short := c.row.Add(pauses.Exchange{Began: v.time, Resolution: h.fuzzy + h.pace, Pace: due}); short {
		j.find(h, v, finding.Gap, fmt.Sprintf("delays of %v: %s", h.pace, h.shown.RequiredBy),
			fmt.Sprintf("%d delays since %s took %v at most, and %v were due", s.Pauses, s.Since.Format(time.TimeOnly),
				s.Most.Round(time.Millisecond), s.Due.Round(time.Millisecond)))
	}
}

// page holds a request for something else than robots.txt against it.
func (j *judge) page(h *visited, v *visit) {
	switch h.policy {
	case "unreachable":
		j.find(h, v, finding.RobotsUnreachable,
			"nothing while robots.txt is unavailable (RFC 9309 2.3.1.4: complete disallow)",
			"requested, after a failure at "+h.asked.Format(time.DateTime))
		return
	case "none":
		h.free = h.absent
		j.Totals.Judged++
	}
	const need = "robots.txt before anything else, and not older than 24 h (RFC 9309 2.2, 2.4)"
	known := h.policy != "" && v.time.Sub(h.asked) <= day+grace+h.fuzzy
	switch code := finding.RobotsExpired; {
	case known:
	case h.policy == "":
		code = finding.RobotsMissing
		fallthrough
	default:
		if !j.reaches(h.name, v.time.Add(-day-grace-h.fuzzy), v.time) {
			j.unprove(h, code, "the log may not reach 24 h back, so robots.txt may have been requested before",
				0)
			break
		}
		j.find(h, v, code, need, "the log has no request for it in the preceding 24 h")
	}
	switch {
	case h.policy == "none":
		return
	case h.rules == nil:
		j.unprove(h, finding.Disallowed, "no robots.txt was given for the host", 0)
		return
	}
	j.Totals.Judged++
	h.used, j.given = true, true
	if ok, line := h.rules.lines.Allowed(v.target); !ok {
		j.find(h, v, finding.Disallowed,
			fmt.Sprintf("no request by %s: line %d of robots.txt (RFC 9309 2.2.2)", j.o.Token, line),
			"requested")
	}
}

// leave ends a host.
func (j *judge) leave(h *visited) {
	if h == nil {
		return
	}
	slices.SortFunc(h.shown.Why, func(a, b audit.Unproved) int { return cmp.Compare(string(a.What)+a.Why, string(b.What)+b.Why) })
	seen, at := int64(0), slices.Sorted(maps.Keys(h.gaps))
	for i, s := range at {
		if i == 0 {
			h.shown.MinGap = float64(s + 1) // less than a second more than the seconds tell
		}
		if seen += h.gaps[s]; 2*seen >= h.shown.Gaps {
			h.shown.MedianGap = float64(s + 1)
			break
		}
	}
	if len(j.o.From) == 0 && len(h.clients) > 1 {
		j.say("%s: %d addresses named %s, and each was judged by itself: whether they are one crawler is not known "+
			"(--from)", h.shown.Authority, len(h.clients), j.o.Token)
	}
	j.Hosts = append(j.Hosts, h.shown)
	if s := h.decided(); s != "" {
		j.by = append(j.by, "robots.txt of "+h.shown.Authority+": "+s)
	}
}

// decided says which robots.txt decided about the requests of a host; "" if none had to.
func (h *visited) decided() string {
	absent := fmt.Sprintf("a logged %d, which allows everything (RFC 9309 2.3.1.3)", h.free)
	switch {
	case h.free != 0 && h.used:
		return fmt.Sprintf("the given %s, and for some requests %s", finding.Short(h.rules.path), absent)
	case h.free != 0 && h.rules != nil:
		return fmt.Sprintf("%s; the given %s was not used", absent, finding.Short(h.rules.path))
	case h.free != 0:
		return absent
	case h.used:
		return "the given " + finding.Short(h.rules.path)
	case h.rules == nil:
		return "none was given, so what it forbids was not judged"
	}
	return ""
}
