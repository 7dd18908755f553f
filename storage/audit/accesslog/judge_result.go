package accesslog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// maxDecided bounds the hosts of which the result says which robots.txt decided.
const maxDecided = 100

// unprove counts what cannot be known.
func (j *judge) unprove(h *visited, what finding.Code, why string, gap time.Duration) {
	u := h.why[string(what)+why]
	if u == nil {
		u = &audit.Unproved{What: what, Why: why}
		h.why[string(what)+why] = u
	}
	most := 0.0
	if gap > 0 || what == finding.Gap {
		most = (gap + h.fuzzy).Seconds()
	}
	u.Count++
	u.Most = max(u.Most, most)
	h.shown.Unprovable++
	j.r.Totals.Unprovable++
}

// finding is a finding about a line.
func (j *judge) finding(h *visited, v *visit, code finding.Code, required, observed string) finding.Finding {
	h.shown.Violations++
	return finding.Finding{
		Code: code, Authority: cut(h.shown.Authority), URL: cut(v.target), Time: v.time,
		Place:    finding.Place{File: j.o.Logs[v.log].Path},
		Required: cut(required), Observed: cut(fmt.Sprintf("line %d: %s", v.number, observed)),
	}
}

// find counts a finding, and keeps it while there are few.
func (j *judge) find(f finding.Finding) {
	c := j.counts[f.Code]
	if c == nil {
		c = &audit.Count{Code: f.Code}
		j.counts[f.Code] = c
	}
	c.Found++
	if f.Note {
		c.Notes++
		j.r.Totals.Notes++
	} else {
		j.r.Totals.Violations++
	}
	if key := string(f.Code) + f.Authority; j.found[key] < j.o.Limit {
		j.found[key]++
		c.Kept++
		j.r.Findings = append(j.r.Findings, f)
	}
}

// cut bounds a text.
func cut(s string) string {
	if s = strings.ToValidUTF8(s, "\ufffd"); len(s) > 300 {
		return strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

func (j *judge) say(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !j.told[s] && len(j.told) < 100 {
		j.told[s] = true
		j.r.CannotShow = append(j.r.CannotShow, s)
	}
}

// conclude makes the result.
func (j *judge) conclude() *audit.Result {
	r := j.r
	for _, c := range finding.Codes() {
		if n := j.counts[c]; n != nil {
			r.Counts = append(r.Counts, *n)
		}
	}
	r.Clean = r.Totals.Violations == 0
	r.Measures = []string{
		"robots.txt requested before pages, and again after 24 h, where the log reaches back far enough (RFC 9309 " +
			"2.2, 2.4)",
		"nothing that robots.txt forbids " + j.o.Token +
			" (RFC 9309 2.2), and nothing while it is unavailable by the log (2.3.1.4)",
		"GET and HEAD only, with a User-Agent that names the crawler",
	}
	r.Measures = append(r.Measures, j.by[:min(len(j.by), maxDecided)]...)
	if more := len(j.by) - maxDecided; more > 0 {
		r.Measures = append(r.Measures, fmt.Sprintf("robots.txt of %d more hosts", more))
	}
	if j.o.Floor > 0 || slices.ContainsFunc(slices.Collect(maps.Values(j.rules)),
		func(r *rules) bool { return r.delay > 0 }) {
		r.Measures = append(r.Measures, "delays as Crawl-delay or --floor requires: too short if no instants within "+
			"the seconds of the log fit them")
	}
	if j.given {
		j.say("that the given robots.txt is the one that the site served then")
	}
	j.say("how long requests took, and thus that a delay was long enough: the delay shown is the longest that is " +
		"possible")
	j.say("Retry-After, RateLimit and other contents of responses; where robots.txt redirected to; cookies and other " +
		"fields of requests")
	j.say("requests under a name that does not contain %s%s", j.o.Token,
		map[bool]string{true: ", from other addresses than those given",
			false: ": give the crawler's addresses (--from)"}[len(j.o.From) > 0])
	j.say("requests before the log begins, after it ends, or to other hosts; and responses of a cache in front of the " +
		"server")
	for _, l := range r.Logs {
		if l.Agentless {
			j.say("lines without a user agent: only --from shows whose they are")
		}
		if l.Unread > 0 {
			j.say("%d lines that cannot be read", l.Unread)
		}
	}
	return r
}
