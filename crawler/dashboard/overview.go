package dashboard

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"

	"curtsy/crawler/status"
)

// front leads to the crawl, or shows all of them beside each other.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	if len(s.watchers) == 1 {
		http.Redirect(w, r, "/crawl/0/", http.StatusSeeOther)
		return
	}
	s.page1(w, r)
}

// page1 is the page of several crawls.
func (s *Server) page1(w http.ResponseWriter, r *http.Request) {
	show := func(_ *http.Request, _ *watcher, v *view) (string, error) {
		v.Title, v.Page, v.Name = "Crawls", "front", ""
		for i, x := range s.watchers {
			v.Crawls[i].seen, v.Crawls[i].Here = x.seen(), false
		}
		return "front.html", nil
	}
	r.SetPathValue("n", "0")
	s.page(show)(w, r)
}

func (s *Server) overview(_ *http.Request, _ *watcher, v *view) (string, error) {
	v.Title, v.Page = "Overview", "overview"
	return "overview.html", nil
}

// Waiting are the hosts with something left, by what they wait for.
func (v *view) Waiting() []part {
	w := v.Waits
	return []part{
		{"turn", "are active", "a request is in flight or about to start", status.StateInTurn, w.InTurn},
		{"due", "are due", "they wait for a worker; if there are many, raise --workers", status.StateDue, w.Due},
		{"pace", "wait for their delay", "from robots.txt, responses or the default", status.StatePace, w.Pace},
		{"address", "wait for their address", "they share an IP address, and its delay, with other hosts", "", w.Address},
		{"retry", "retry later", "all their remaining URLs failed before", status.StateRetry, w.Retry},
		{"rest", "back off", "Retry-After or repeated failures", status.StateRest, w.Rest},
		{"robots", "wait for robots.txt", "it is unavailable, so nothing may be fetched", status.StateRobots, w.Robots},
		{"operator", "are held by you", "paused or dropped", status.StateParked, w.Operator},
		{"shut", "are closed", "retired or given up, until a later run or until unpaused", "", w.Shut},
	}
}

// Outcomes are what became of URLs.
func (v *view) Outcomes() []count {
	s := v.Status
	return []count{
		{"fetched", "good", "", s.Fetched}, {"redirected", "plain", "", s.Redirected}, {"gone", "plain", "404 and 410", s.Gone},
		{"failed", "bad", "", s.Failed}, {"disallowed", "robots", "by robots.txt", s.Disallowed}, {"dropped", "plain", "", s.Dropped},
		{"held", "rest", "by a trap rule", s.Held}, {"pending", "pace", "queued, in flight and deferred", v.Left()},
	}
}

// ClassCounts are the answers by class of status code.
func (v *view) ClassCounts() (all []count) {
	for _, c := range []count{
		{Name: "1xx", Class: "plain"}, {Name: "2xx", Class: "good"}, {Name: "3xx", Class: "plain"}, {Name: "4xx", Class: "rest"}, {Name: "5xx", Class: "bad"},
	} {
		if c.N = v.Status.Answers[c.Name]; c.N > 0 {
			all = append(all, c)
		}
	}
	return all
}

// TypeCounts are the 2xx answers by media type.
func (v *view) TypeCounts() []count { return counts(v.Status.Types, "plain", 10) }

// TagCounts are the pages by the tag of their seed.
func (v *view) TagCounts() []count { return counts(v.Status.Tags, "plain", 10) }

// NotFollowed are the links that were not followed, by rule.
func (v *view) NotFollowed() []count { return counts(v.Status.Links, "plain", 8) }

// FailureCounts are the failures of the whole crawl by class.
func (v *view) FailureCounts() []count { return counts(v.Status.Failures, "bad", 10) }

// Chart is the rate of the last minutes beside what was permitted.
func (v *view) Chart() template.HTML {
	var achieved, permitted []float64
	for _, r := range v.Course {
		achieved, permitted = append(achieved, r.Exchanges), append(permitted, r.Permitted)
	}
	return curve(achieved, permitted, "rate", fmt.Sprintf("Requests per second over the last %s: now %s, permitted %s",
		lasting(v.Span), perS(v.Now.Exchanges), perS(v.Waits.Permitted)))
}

// ChartTop is the upper end of the axis of Chart.
func (v *view) ChartTop() float64 { return topOf(v.Course) }

// ChartHalf is the middle of it.
func (v *view) ChartHalf() float64 { return v.ChartTop() / 2 }

// LongChart is Chart over a day.
func (v *view) LongChart() template.HTML {
	var achieved, permitted []float64
	for _, r := range v.LongRates {
		achieved, permitted = append(achieved, r.Exchanges), append(permitted, r.Permitted)
	}
	return curve(achieved, permitted, "rate", "Requests per second, and the permitted rate, over the last "+lasting(v.LongSpan))
}

// LongTop is the upper end of its axis.
func (v *view) LongTop() float64 { return topOf(v.LongRates) }

func topOf(course []status.Rates) (top float64) {
	for _, r := range course {
		top = max(top, r.Exchanges, r.Permitted)
	}
	return niceTop(top)
}

// Spark is one of the rates, small.
func (v *view) Spark(what string) template.HTML {
	var values []float64
	for _, r := range v.Course {
		values = append(values, map[string]float64{"pages": r.Pages, "bytes": r.Bytes, "archive": r.Archive}[what])
	}
	return curve(values, nil, what, what+" per second over the last "+lasting(v.Span))
}

// Reached is the share of the permitted rate that was reached over a minute, in which hosts came and went: what is more than
// all is all.
func (v *view) Reached() string {
	return share(min(v.Minute.Exchanges, v.Minute.Permitted), v.Minute.Permitted)
}

// RestText is how long the crawl still takes, in the words of the terminal.
func (v *view) RestText() string {
	left, more := v.Estimate.RestText()
	return left + more
}

// ETA is when it will be done: likely, or at the earliest where nobody knows how much is still found.
func (v *view) ETA() string {
	rest := v.Estimate.Rest()
	if rest <= 0 || v.Left() == 0 {
		return ""
	}
	at := time.Now().Add(rest).UTC()
	if rest < 20*time.Hour {
		return at.Format("15:04")
	}
	return at.Format("2 Jan 15:04")
}

// Deciding are the hosts with the longest queues, and how long each takes.
func (v *view) Deciding() []deciding {
	var all []deciding
	for _, q := range v.Status.Longest {
		all = append(all, deciding{q, time.Duration(float64(q.Pending) * q.Pace * float64(time.Second))})
	}
	slices.SortStableFunc(all, func(a, b deciding) int { return int(min(max(b.Need-a.Need, -1), 1)) })
	return all
}

type deciding struct {
	status.Queue
	Need time.Duration
}

// Why says in a sentence why it is no faster.
func (v *view) Why() string {
	if !v.Running {
		return "The crawl is not running."
	}
	if at := v.Status.Opens; at != nil {
		return "The crawl is outside its window (--window): no requests until " + at.UTC().Format("Mon 2 Jan 15:04 MST") + "."
	}
	return v.Waits.Why(v.Status.State, v.Minute.Exchanges, v.Minute.Permitted)
}
