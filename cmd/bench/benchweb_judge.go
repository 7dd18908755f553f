package main

import (
	"fmt"
	"slices"
	"time"

	"curtsy/storage/plainly"
)

// Refereed is what the referee of a Web says about the crawl since the last Reset.
type Refereed struct {
	Requests   int         `json:"requests"`
	Robots     int         `json:"robots"`            // of these, for robots.txt
	Other      int         `json:"other"`             // of these, for what there is not
	Pages      int         `json:"pages"`             // distinct pages that were asked for
	Expected   int         `json:"expected"`          // pages
	Coverage   float64     `json:"coverage"`          // pages ÷ expected
	Duplicates int         `json:"duplicates"`        // requests for a page that was asked for before
	Sick       int         `json:"hostile,omitempty"` // requests for the hostile page
	Ill        HostileBody `json:"hostile_body,omitempty"`

	Connections int `json:"connections"`          // opened in all
	ConnsPer    int `json:"connections_per_host"` // opened at one host, at most
	OpenPer     int `json:"open_per_host"`        // open at once at one host, at most
	AtOnce      int `json:"at_once"`              // requests under way at one host, at most

	Gaps        int     `json:"gaps"`           // between requests of one host, where a pace was asked for
	Short       int     `json:"gaps_short"`     // of these, shorter than the pace, or none at all
	SmallestGap float64 `json:"smallest_gap_s"` // 0 where none was judged; negative where requests overlapped
	TooMany     int     `json:"too_many"`       // requests beyond the width
	Unannounced int     `json:"unannounced"`    // hosts whose pages were asked for before robots.txt was answered

	Window    float64 `json:"window_s"`                  // from the first request to the end of the last answer
	Exchange  float64 `json:"exchange_s"`                // the median of an exchange, as the server saw it
	Permitted float64 `json:"permitted_per_s,omitempty"` // requests: hosts ÷ (pace + exchange)
	// requests ÷ time between the first and the last, the first of each host not counted
	Achieved  float64 `json:"achieved_per_s,omitempty"`
	OfAllowed float64 `json:"achieved_ratio,omitempty"` // achieved ÷ permitted
	// the same of each host from its own first request on: without the time it takes to meet them all
	PerHost float64 `json:"per_host_ratio,omitempty"`
	Steady  float64 `json:"steady_ratio,omitempty"` // the same while all hosts had been met and none was through
	// from the first request to the first request of the host that was met last
	MetAfter  float64 `json:"all_hosts_met_s,omitempty"`
	Late99    float64 `json:"late_99_s,omitempty"`       // waited beyond the pace: 99 % waited less
	LateMost  float64 `json:"late_most_s,omitempty"`     // at most
	PaceAsked float64 `json:"pace_s,omitempty"`          // by robots.txt
	Endless   bool    `json:"endless,omitempty"`         // pages lead to further ones without end,
	Known     int     `json:"urls_discovered,omitempty"` // which makes so many URLs that a crawl knows
}

// Violations says what a polite crawler does not do, and what one that is whole does not miss.
func (r Refereed) Violations() (found []string) {
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	add(r.Pages != r.Expected, "%d of %d pages were fetched", r.Pages, r.Expected)
	add(r.Duplicates > 0, "%s for a page requested before", plainly.Count(r.Duplicates, "request"))
	add(r.Ill != "" && r.Sick == 0, "the hostile page was not requested")
	add(r.Other > 0, "%s for what there is not", plainly.Count(r.Other, "request"))
	add(r.Short > 0, "%d of %s short of the pace, the smallest %.6f s", r.Short, plainly.Count(r.Gaps, "gap"),
		r.SmallestGap)
	add(r.TooMany > 0, "%s while as many as allowed were under way at the host", plainly.Count(r.TooMany, "request"))
	add(r.Unannounced > 0, "%s whose robots.txt was not read first", plainly.Count(r.Unannounced, "host"))
	return found
}

// Report judges what was asked for so far.
func (b *ServedWeb) Report() Refereed {
	r := Refereed{Expected: b.cfg.Pages, Endless: b.cfg.Endless, PaceAsked: b.cfg.Pace.Seconds(), Ill: b.cfg.Ill}
	var first, last, lastStart, spans time.Duration
	var took, late []time.Duration
	again := 0 // requests but the first of each host
	var logs [][]request
	for i := range b.hosts {
		h := &b.hosts[i]
		h.mu.Lock()
		r.Connections += h.opened
		r.ConnsPer, r.OpenPer = max(r.ConnsPer, h.opened), max(r.OpenPer, h.most)
		h.mu.Unlock()
		all := h.requests()
		if len(all) == 0 {
			continue
		}
		if r.Requests == 0 || all[0].start < first {
			first = all[0].start
		}
		r.Requests += len(all)
		again += len(all) - 1
		logs = append(logs, all)
		spans += all[len(all)-1].start - all[0].start
		r.reach(all)
		r.manners(all, b.cfg.Width)
		late = append(late, r.gaps(all, b.cfg.Pace)...)
		for _, x := range all {
			last, lastStart = max(last, x.end), max(lastStart, x.start)
			if x.end > 0 {
				took = append(took, x.end-x.start)
			}
		}
	}
	r.Coverage = float64(r.Pages) / float64(r.Expected)
	if b.cfg.Endless {
		r.Known = b.cfg.Hosts + Links*r.Pages
	}
	if len(took) == 0 {
		return r
	}
	r.Window, r.Exchange = (last - first).Seconds(), quantile(took, 0.5).Seconds()
	if b.cfg.Pace > 0 && len(late) > 0 && lastStart > first {
		r.Permitted = float64(b.cfg.Hosts) / (b.cfg.Pace.Seconds() + r.Exchange)
		r.Achieved = float64(again) / (lastStart - first).Seconds()
		r.OfAllowed = r.Achieved / r.Permitted
		r.PerHost = float64(again) * (b.cfg.Pace.Seconds() + r.Exchange) / spans.Seconds()
		r.steady(logs, b.cfg.Hosts)
		r.Late99, r.LateMost = quantile(late, 0.99).Seconds(), quantile(late, 1).Seconds()
	}
	return r
}

// steady measures how much of what is permitted is achieved while all hosts are known and all have something left: from
// the first request of the host that was met last to the last request of the host that was through first. A
// crawler cannot ask hosts that it has not met, and the beginning counts for more the fewer pages hosts have; nor hosts
// that have nothing left. Within that window each host's requests are counted from one to another, since a window's
// edges cut pauses in two.
func (r *Refereed) steady(logs [][]request, hosts int) {
	var first, from, to time.Duration
	for i, log := range logs {
		begin, end := log[0].start, log[len(log)-1].start
		if i == 0 {
			first, from, to = begin, begin, end
		}
		first, from, to = min(first, begin), max(from, begin), min(to, end)
	}
	r.MetAfter = (from - first).Seconds()
	again, spans := 0, time.Duration(0)
	for _, log := range logs {
		in := slices.DeleteFunc(slices.Clone(log), func(x request) bool { return x.start < from || x.start > to })
		if len(in) < 2 { // left waiting all the time
			spans += to - from
			continue
		}
		again, spans = again+len(in)-1, spans+in[len(in)-1].start-in[0].start
	}
	if turn := r.PaceAsked + r.Exchange; len(logs) == hosts && (to-from).Seconds() >= steadyTurns*turn {
		r.Steady = float64(again) * turn / spans.Seconds()
	}
}

// steadyTurns is how long the window must be at least, in turns of a host, to say something.
const steadyTurns = 2

// quantile sorts what it is given.
func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}

// reach counts what the requests of a host were for.
func (r *Refereed) reach(all []request) {
	seen := map[int]bool{}
	for _, x := range all {
		switch {
		case x.page == robotsPage:
			r.Robots++
		case x.page == noPage:
			r.Other++
		case x.page == illPage:
			r.Sick++
		case seen[x.page]:
			r.Duplicates++
		default:
			seen[x.page] = true
		}
	}
	r.Pages += len(seen)
}

// manners counts how many requests were under way at once, and whether robots.txt came first.
func (r *Refereed) manners(all []request, width int) {
	var flying []time.Duration // the ends; 0 for what was never answered
	announced, unannounced := false, false
	for i, x := range all {
		flying = slices.DeleteFunc(flying, func(end time.Duration) bool { return end > 0 && end <= x.start })
		flying = append(flying, x.end)
		r.AtOnce = max(r.AtOnce, len(flying))
		if width > 0 && len(flying) > width {
			r.TooMany++
		}
		if !announced {
			announced = slices.ContainsFunc(all[:i], func(o request) bool {
				return o.page == robotsPage && o.end > 0 && o.end <= x.start
			})
			unannounced = unannounced || !announced && x.page != robotsPage
		}
	}
	if unannounced {
		r.Unannounced++
	}
}

// gaps judges the pauses of a host, and returns by how much each exceeds the pace.
func (r *Refereed) gaps(all []request, pace time.Duration) (late []time.Duration) {
	if pace <= 0 {
		return nil
	}
	end := all[0].end
	for i, x := range all[1:] {
		d := x.start - end
		if before := all[i]; before.end == 0 { // under way still
			d = before.start - x.start
		}
		if r.Gaps++; r.Gaps == 1 || d.Seconds() < r.SmallestGap {
			r.SmallestGap = d.Seconds()
		}
		if d < pace {
			r.Short++
		}
		late = append(late, d-pace)
		end = max(end, x.end)
	}
	return late
}
