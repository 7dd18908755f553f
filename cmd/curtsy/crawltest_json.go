package main

import (
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
)

// boardMap is where the scoreboard's web is served.
type boardMap struct {
	Seed  string            `json:"seed"`
	Hosts map[string]string `json:"hosts"` // names to URLs
}

func newBoardMap(b *scoreboard.Board) boardMap {
	m := boardMap{Seed: b.Seed(), Hosts: map[string]string{}}
	for _, h := range b.Hosts() {
		m.Hosts[h] = b.LoopbackURL(h)
	}
	return m
}

// scoreJSON is a score, and how it came about.
type scoreJSON struct {
	Command  []string    `json:"command,omitempty"`
	Exit     *int        `json:"exit,omitempty"` // of the command; absent when a signal ended it
	Seed     string      `json:"seed"`
	Requests int         `json:"requests"`
	Elapsed  float64     `json:"elapsed_s"` // from the first request to the end of the last exchange
	Passed   int         `json:"passed"`
	Failed   int         `json:"failed"`
	NotShown int         `json:"not_shown"`
	Rules    []ruleJSON  `json:"rules"`
	Hosts    []visitJSON `json:"hosts"`
}

type ruleJSON struct {
	Number   int           `json:"number,omitempty"` // of the rule of politeness
	Rule     string        `json:"rule"`
	Source   string        `json:"source"`
	Verdict  string        `json:"verdict"` // "pass", "FAIL" or "not shown"
	Evidence string        `json:"evidence"`
	Findings []findingJSON `json:"findings,omitempty"`
}

type findingJSON struct {
	Host   string     `json:"host,omitempty"`
	Target string     `json:"target,omitempty"`
	At     *time.Time `json:"at,omitempty"` // absent for a request that never came
	Text   string     `json:"text"`
}

type visitJSON struct {
	Host     string  `json:"host"`
	Requests int     `json:"requests"`
	Robots   int     `json:"robots"`
	Pages    int     `json:"pages"`
	Gap      float64 `json:"smallest_gap_s"`
	AtOnce   int     `json:"at_once"`
}

func newScoreJSON(s scoreboard.Score, seed string) scoreJSON {
	out := scoreJSON{
		Seed: seed, Requests: s.Requests, Elapsed: s.Elapsed.Seconds(),
		Passed: s.Count(crawltest.Kept), Failed: s.Count(crawltest.Broken), NotShown: s.Count(crawltest.Unshown),
	}
	for _, row := range s.Rows {
		r := ruleJSON{Number: row.Number, Rule: string(row.Rule), Source: row.Source, Verdict: scoreboard.Word(row.Verdict), Evidence: row.Evidence}
		for _, f := range row.Findings {
			j := findingJSON{Host: f.Host, Target: f.Target, Text: f.Text}
			if !f.At.IsZero() {
				j.At = &f.At
			}
			r.Findings = append(r.Findings, j)
		}
		out.Rules = append(out.Rules, r)
	}
	for _, h := range s.Hosts {
		out.Hosts = append(out.Hosts, visitJSON{h.Host, h.Requests, h.Robots, h.Pages, h.Gap.Seconds(), h.Flying})
	}
	return out
}
