package main

import (
	"fmt"
	"slices"
	"time"

	"curtsy/storage/plainly"
)

// refereed is what the servers saw of a crawl.
type refereed struct {
	Requests    int     `json:"requests"`
	Robots      int     `json:"robots"`     // of these, for robots.txt
	Other       int     `json:"other"`      // of these, for pages that do not exist
	Hostile     int     `json:"hostile"`    // of these, for the hostile page
	Pages       int     `json:"pages"`      // distinct pages requested
	Expected    int     `json:"expected"`   // pages
	Coverage    float64 `json:"coverage"`   // pages ÷ expected
	Duplicates  int     `json:"duplicates"` // requests for a page requested before
	Connections int     `json:"connections_per_host"`
	Gaps        int     `json:"gaps"`           // between requests to one host that requires a delay
	Short       int     `json:"gaps_short"`     // of these, shorter than the delay
	SmallestGap float64 `json:"smallest_gap_s"` // negative where requests overlapped
	TooMany     int     `json:"too_many"`       // requests beyond the width
	Unannounced int     `json:"unannounced"`    // hosts with a request before the response of robots.txt
	OfPermitted float64 `json:"achieved_ratio"` // requests per second, the first of each host excepted, ÷ (hosts ÷ (pace + exchange))
	Steady      float64 `json:"steady_ratio"`   // the same while all hosts were known and none was finished
	MetAfter    float64 `json:"all_hosts_met_s"`
	Known       int     `json:"urls_discovered,omitempty"` // of an endless web
	Unasked     bool    `json:"hostile_not_requested,omitempty"`
}

// violations lists what a polite crawler does not do, and what a complete crawl does not miss.
func (r *refereed) violations() (found []string) {
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	add(r.Pages != r.Expected, "%d of %d pages were fetched", r.Pages, r.Expected)
	add(r.Duplicates > 0, "%s for a page requested before", plainly.Count(r.Duplicates, "request"))
	add(r.Unasked, "the hostile page was not requested")
	add(r.Other > 0, "%s for pages that do not exist", plainly.Count(r.Other, "request"))
	add(r.Short > 0, "%d of %s short of the delay, the smallest %.6f s", r.Short, plainly.Count(r.Gaps, "gap"), r.SmallestGap)
	add(r.TooMany > 0, "%s while as many as allowed were in progress at the host", plainly.Count(r.TooMany, "request"))
	add(r.Unannounced > 0, "%s whose robots.txt was not read first", plainly.Count(r.Unannounced, "host"))
	return found
}

// report judges the requests since the last reset.
func (w *web) report() *refereed {
	r := &refereed{Expected: w.cfg.Pages}
	var logs [][]request
	var took []time.Duration
	for i := range w.hosts {
		h := &w.hosts[i]
		h.mu.Lock()
		log := slices.Clone(h.log)
		r.Connections = max(r.Connections, h.opened)
		h.mu.Unlock()
		if len(log) == 0 {
			continue
		}
		slices.SortStableFunc(log, func(a, b request) int { return int(a.start - b.start) })
		logs = append(logs, log)
		for _, x := range log {
			if x.end > 0 {
				took = append(took, x.end-x.start)
			}
		}
		r.count(log)
		r.overlap(log, w.cfg.Width)
		if w.cfg.Pace > 0 {
			r.gaps(log, w.cfg.Pace)
		}
	}
	r.Coverage, r.Unasked = float64(r.Pages)/float64(r.Expected), w.cfg.Hostile != "" && r.Hostile == 0
	if w.cfg.Endless {
		r.Known = w.cfg.Hosts + links*r.Pages
	}
	if w.cfg.Pace > 0 && len(took) > 0 {
		slices.Sort(took)
		r.ratios(logs, w.cfg.Hosts, (w.cfg.Pace + took[(len(took)-1)/2]).Seconds())
	}
	return r
}

// count counts what the requests of a host were for.
func (r *refereed) count(log []request) {
	seen := map[int]bool{}
	for _, x := range log {
		r.Requests++
		switch {
		case x.page == robotsPage:
			r.Robots++
		case x.page == noPage:
			r.Other++
		case x.page == hostilePage:
			r.Hostile++
		case seen[x.page]:
			r.Duplicates++
		default:
			seen[x.page] = true
			r.Pages++
		}
	}
}

// overlap counts requests beyond the width, and whether robots.txt came first.
func (r *refereed) overlap(log []request, width int) {
	var open []request // in progress; end 0 = never completed
	announced, unannounced := false, 0
	for _, x := range log {
		open = slices.DeleteFunc(open, func(o request) bool {
			over := o.end > 0 && o.end <= x.start
			announced = announced || over && o.page == robotsPage
			return over
		})
		open = append(open, x)
		if width > 0 && len(open) > width {
			r.TooMany++
		}
		if !announced && x.page != robotsPage {
			unannounced = 1
		}
	}
	r.Unannounced += unannounced
}

// gaps checks the delays between the requests of a host.
func (r *refereed) gaps(log []request, pace time.Duration) {
	end := log[0].end
	for i, x := range log[1:] {
		d := x.start - end
		if before := log[i]; before.end == 0 { // still in progress
			d = before.start - x.start
		}
		if r.Gaps++; r.Gaps == 1 || d.Seconds() < r.SmallestGap {
			r.SmallestGap = d.Seconds()
		}
		if d < pace {
			r.Short++
		}
		end = max(end, x.end)
	}
}

// steadyTurns is the shortest window for a steady ratio, in turns of a host.
const steadyTurns = 2

// ratios compares the requests with what is permitted: one per turn (delay and response) to each host. The steady ratio
// covers the time from the first request to the last host until the last request to the host that finished first: a crawler
// cannot request hosts that it does not know, nor hosts with nothing left. Within the window each host is measured from one
// of its requests to another, because the edges of the window cut delays in two.
func (r *refereed) ratios(logs [][]request, hosts int, turn float64) {
	first, last := logs[0][0].start, time.Duration(0)
	from, to := first, logs[0][len(logs[0])-1].start
	for _, log := range logs {
		begin, end := log[0].start, log[len(log)-1].start
		first, last, from, to = min(first, begin), max(last, end), max(from, begin), min(to, end)
	}
	r.MetAfter = (from - first).Seconds()
	again, spans := 0, time.Duration(0)
	for _, log := range logs {
		in := slices.DeleteFunc(slices.Clone(log), func(x request) bool { return x.start < from || x.start > to })
		if len(in) < 2 { // waiting all the time
			spans += to - from
			continue
		}
		again, spans = again+len(in)-1, spans+in[len(in)-1].start-in[0].start
	}
	if len(logs) == hosts && (to-from).Seconds() >= steadyTurns*turn {
		r.Steady = float64(again) * turn / spans.Seconds()
	}
	if last > first {
		r.OfPermitted = float64(r.Requests-len(logs)) / (last - first).Seconds() * turn / float64(hosts)
	}
}
