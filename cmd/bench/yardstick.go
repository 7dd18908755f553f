package main

import (
	"fmt"
	"runtime"
)

// The bare loop is what curtsy is held against, and a slow one would flatter. There are two measures for it.
//
// One is wget2, a fast crawler: a loop that keeps nothing should do twice as many pages per second. It is a rule of thumb
// from webs that take their time to answer. Where answers cost nothing, as here, processor time decides, and wget2
// reads links off the octets as they come, in C, with no tree at all: with the files that it writes it takes less time
// for a page than any loop of Go takes for parsing it. Then the rule says nothing about the loop. It is
// printed with each result, kept or not, and decides nothing.
//
// The other is what the loop is made of: fetching a page over a plain connection and html.Parse with the links resolved,
// measured in each round of the same run, by a process of its own. A loop that takes barePasses times the
// processor time of these, or more, wastes it; one that leaves out pages, or fetches some twice, is none. Such
// a run is void.
const (
	yardTimes  = 2.0  // as fast as wget2 should the bare loop be
	barePasses = 1.5  // times the processor time of its parts may the bare loop take
	fewPages   = 1000 // pages, with fewer of which starting a process counts as much as crawling
)

// Yardstick is how good the bare loop is.
type Yardstick struct {
	ToWget2 float64 `json:"pages_per_s_to_wget2,omitempty"` // 0 where wget2 did not run
	Met     bool    `json:"wget2_rule_met"`                 // at least yardTimes that
	ToParts float64 `json:"cpu_per_page_to_parts"`          // 0 where processor time is not measured
	Fetch   float64 `json:"fetch_cpu_ms_per_page"`
	Parse   float64 `json:"parse_cpu_ms_per_page"`
	Judged  bool    `json:"judged"` // by its parts
}

// measureUp holds the bare loop against both.
func (r *Result) measureUp() {
	bare := r.named(nameBare)
	if bare == nil {
		return
	}
	y := &Yardstick{}
	var fetch, parse, to []float64
	for i := range min(len(r.Parts), len(bare.Rounds)) {
		p := r.Parts[i]
		fetch, parse = append(fetch, p.Fetch), append(parse, p.Parse)
		if p.Fetch+p.Parse > 0 {
			to = append(to, bare.Rounds[i].CPUPerPage/(p.Fetch+p.Parse))
		}
	}
	y.Fetch, y.Parse, y.ToParts = spreadOf(fetch).Median, spreadOf(parse).Median, spreadOf(to).Median
	y.Judged = y.ToParts > 0 && r.Pages >= fewPages
	if yard := r.named(nameYard); yard != nil {
		y.ToWget2 = ratioOf(bare.Rounds, yard.Rounds, func(x Round) float64 { return x.PagesPerS }).Median
		y.Met = y.ToWget2 >= yardTimes
	}
	r.Yardstick = y
}

// void says why the figures are worth nothing.
func (r *Result) void() string {
	for _, name := range []string{nameBare, nameBareGo} {
		bare := r.named(name)
		if bare == nil {
			continue
		}
		for i, x := range bare.Rounds {
			if x.Referee.Pages != x.Referee.Expected || x.Referee.Duplicates > 0 {
				return fmt.Sprintf("%s (%s) fetched %d of %d pages, and %d again, in round %d", bareWords, name, x.Referee.Pages, x.Referee.Expected, x.Referee.Duplicates, i+1)
			}
		}
	}
	if y := r.Yardstick; y != nil && y.Judged && y.ToParts > barePasses {
		return fmt.Sprintf("%s takes %.2f times the processor time of fetching and parsing; a yardstick may take up to %.1f times", bareWords, y.ToParts, barePasses)
	}
	return ""
}

// yardstickLines say what the bare loop is worth.
func (r *Result) yardstickLines(unjudged string) (lines []string) {
	y := r.Yardstick
	if y == nil {
		return nil
	}
	switch {
	case y.ToWget2 == 0 && unjudged == "":
		lines = append(lines, bareWords+" was not compared with wget2, which fetched nothing")
	case y.ToWget2 == 0:
		lines = append(lines, fmt.Sprintf("%s was not compared with wget2: %s", bareWords, unjudged))
	case y.Met:
		lines = append(lines, fmt.Sprintf("the yardstick rule is met: %s is %.2f times as fast as wget2 (required: %.0f times)", bareWords, y.ToWget2, yardTimes))
	default:
		lines = append(lines, fmt.Sprintf("the yardstick rule is not met: %s is %.2f times as fast as wget2 (required: %.0f times), which takes %.3f CPU ms for a page, files written; parsing takes %.3f",
			bareWords, y.ToWget2, yardTimes, r.named(nameYard).CPUPerPage.Median, y.Parse))
	}
	switch {
	case y.Judged:
		lines = append(lines, fmt.Sprintf("%s takes %.2f times the processor time of its parts (fetch %.3f + parse %.3f CPU ms a page); up to %.1f times it is a good yardstick", bareWords, y.ToParts, y.Fetch, y.Parse, barePasses))
	case runtime.GOOS == "windows":
		lines = append(lines, bareWords+" was not compared with its parts: their processor time is not measured on Windows")
	default:
		lines = append(lines, fmt.Sprintf("%s was not compared with its parts: fewer than %d pages show little", bareWords, fewPages))
	}
	return lines
}
