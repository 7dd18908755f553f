package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

// result has all measurements. The text form has only medians.
type result struct {
	Schema     int        `json:"schema"`
	Version    string     `json:"curtsy"`
	Go         string     `json:"go"`
	System     string     `json:"system"`
	CPUs       int        `json:"cpus"`
	Time       time.Time  `json:"time"`
	Dir        string     `json:"dir"` // of the crawls: its disk counts
	Setup      string     `json:"setup"`
	Pages      int        `json:"pages,omitempty"`
	Hosts      int        `json:"hosts,omitempty"`
	Workers    int        `json:"workers,omitempty"`
	Pace       float64    `json:"pace_s,omitempty"`
	Contenders []rows     `json:"contenders,omitempty"`
	Ratios     []ratio    `json:"ratios,omitempty"`
	Added      []addedRSS `json:"peak_rss_added,omitempty"` // of setup hostile
	Faults     int        `json:"faults,omitempty"`         // of the site for link checkers
	Docs       string     `json:"docs,omitempty"`           // the folder for link checkers
	Checkers   []checker  `json:"checkers,omitempty"`       // curtsy first
	Violations []string   `json:"violations"`               // by curtsy, in any round
	Void       string     `json:"void,omitempty"`           // why the figures are void
	Notes      []string   `json:"notes"`
}

type rows struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Peer    bool     `json:"peer"`
	Rounds  []round  `json:"rounds"`

	PagesPerS  spread `json:"pages_per_s"`
	CPUPerPage spread `json:"cpu_ms_per_page"`
	PeakRSS    spread `json:"peak_rss_bytes"`
	Allocs     spread `json:"allocs_per_page"`

	web webConfig
}

// round is one run. A page is a distinct one.
type round struct {
	Wall       float64 `json:"wall_s"`      // from the start of the process to its end
	PagesPerS  float64 `json:"pages_per_s"` // by the wall
	CPUPerPage float64 `json:"cpu_ms_per_page"`
	PeakRSS    int64   `json:"peak_rss_bytes"`            // 0 = unknown
	Allocs     float64 `json:"allocs_per_page,omitempty"` // not of peers
	Files      int     `json:"files,omitempty"`           // in the tree, of setup mirror
	Stopped    bool    `json:"stopped,omitempty"`         // a peer, at its limit

	Referee refereed `json:"referee"`
}

type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// ratio is curtsy ÷ another: the median of the ratios within rounds, whose runs were close in time.
type ratio struct {
	To         string `json:"to"`
	PagesPerS  spread `json:"pages_per_s"`
	CPUPerPage spread `json:"cpu_per_page"`
}

// addedRSS is the additional peak memory of a crawl with one hostile body.
type addedRSS struct {
	Of      string `json:"of"`
	Without spread `json:"without_bytes"`
	With    spread `json:"with_bytes"`
	Added   spread `json:"added_bytes"`
}

func pagesPerS(x round) float64  { return x.PagesPerS }
func cpuPerPage(x round) float64 { return x.CPUPerPage }

func newRound(e ended, own childStats, judged refereed) round {
	r := round{Wall: e.took.Seconds(), PeakRSS: cmp.Or(own.PeakRSS, peakOf(e.state)), Referee: judged, Stopped: e.stopped}
	if pages := float64(judged.Pages); pages > 0 {
		r.Allocs, r.PagesPerS = float64(own.Mallocs)/pages, pages/r.Wall
		r.CPUPerPage = 1e3 * (e.state.UserTime() + e.state.SystemTime()).Seconds() / pages
	}
	return r
}

func (b *bench) newResult() *result {
	r := &result{Schema: 2, Version: crawldir.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Time: time.Now().UTC().Truncate(time.Second), Dir: b.tmp, Setup: b.name, Pages: b.pages, Hosts: b.hosts, Workers: b.workers,
		Docs: b.docs, Violations: []string{}, Notes: []string{}}
	for _, c := range b.contenders {
		r.Pace = c.web.Pace.Seconds()
		r.Contenders = append(r.Contenders, rows{Name: c.name, Command: slices.Concat(c.words, c.job.Args), Peer: c.peer(), web: c.web})
	}
	return r
}

func (c *rows) spread(figure func(round) float64) spread {
	var all []float64
	for _, x := range c.Rounds {
		all = append(all, figure(x))
	}
	return spreadOf(all)
}

// ratioTo returns the spread of the ratios within rounds.
func (c *rows) ratioTo(other *rows, figure func(round) float64) spread {
	var all []float64
	for i := range min(len(c.Rounds), len(other.Rounds)) {
		if d := figure(other.Rounds[i]); d > 0 {
			all = append(all, figure(c.Rounds[i])/d)
		}
	}
	return spreadOf(all)
}

// spreadOf takes the mean of the two middle values as the median of an even number.
func spreadOf(all []float64) spread {
	if len(all) == 0 {
		return spread{}
	}
	all = slices.Sorted(slices.Values(all))
	n := len(all)
	return spread{Median: (all[(n-1)/2] + all[n/2]) / 2, Min: all[0], Max: all[n-1]}
}

// Stopped reports whether a round ended at the limit.
func (c rows) Stopped() bool {
	return slices.ContainsFunc(c.Rounds, func(x round) bool { return x.Stopped })
}

func (c *rows) ours() bool { return !c.Peer && !strings.HasPrefix(c.Name, bareLoop) }

// conclude computes medians and ratios, and judges the rounds.
func (r *result) conclude() {
	for i := range r.Contenders {
		c := &r.Contenders[i]
		c.PagesPerS, c.CPUPerPage = c.spread(pagesPerS), c.spread(cpuPerPage)
		c.PeakRSS = c.spread(func(x round) float64 { return float64(x.PeakRSS) })
		c.Allocs = c.spread(func(x round) float64 { return x.Allocs })
		r.judge(c)
	}
	ours := &r.Contenders[0]
	for i := range r.Contenders[1:] {
		c := &r.Contenders[1+i]
		switch {
		case c.web == ours.web:
			r.Ratios = append(r.Ratios, ratio{c.Name, ours.ratioTo(c, pagesPerS), ours.ratioTo(c, cpuPerPage)})
		case c.web.Hostile != "":
			var added []float64
			for i := range min(len(c.Rounds), len(ours.Rounds)) {
				added = append(added, float64(c.Rounds[i].PeakRSS-ours.Rounds[i].PeakRSS))
			}
			r.Added = append(r.Added, addedRSS{c.web.Hostile, ours.PeakRSS, c.PeakRSS, spreadOf(added)})
		}
	}
	if runtime.GOOS == "windows" {
		r.note("on Windows the memory of peers is not measured")
	}
}

func (r *result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// judge collects the faults of a contender's runs.
func (r *result) judge(c *rows) {
	for i, x := range c.Rounds {
		found := x.Referee.violations()
		if r.Setup == mirrorTree && x.Files < x.Referee.Expected {
			found = append(found, fmt.Sprintf("%d files in the tree for %d pages", x.Files, x.Referee.Expected))
		}
		for _, what := range found {
			if c.ours() {
				r.Violations = append(r.Violations, fmt.Sprintf("%s, round %d: %s", c.Name, i+1, what))
			}
		}
		if !c.ours() && !c.Peer && (x.Referee.Pages != x.Referee.Expected || x.Referee.Duplicates > 0) {
			r.Void = fmt.Sprintf("%s fetched %d of %d pages, and %d again, in round %d", c.Name, x.Referee.Pages, x.Referee.Expected, x.Referee.Duplicates, i+1)
		}
		if x.Stopped {
			r.note("%s was stopped after %.0f s, after it had requested %d of %d pages; it was not run again", plainly.Lines(c.Name), x.Wall, x.Referee.Pages, x.Referee.Expected)
		}
	}
}

// verdict is the error of the command.
func (r *result) verdict() error {
	switch {
	case len(r.Violations) > 0:
		return &cli.Error{Code: cli.ExitFound, Err: fmt.Errorf("the servers found a violation, or an incomplete crawl: %s", r.Violations[0])}
	case r.Void != "":
		return fmt.Errorf("the run is void: %s", r.Void)
	case len(r.Checkers) > 0 && (r.Checkers[0].Found < r.Faults || len(r.Checkers[0].Invented) > 0):
		return &cli.Error{Code: cli.ExitFound, Err: errors.New("curtsy linkcheck missed a fault, or reported one that does not exist")}
	}
	return nil
}

// resultText has tables of medians and worst counts.
//
//go:embed result.tmpl
var resultText string

var resultTemplate = template.Must(template.New("result").Funcs(template.FuncMap{
	"count": plainly.Count[int], "lines": plainly.Lines, "oneLine": plainly.OneLine, "join": strings.Join,
	"latency": latency.Seconds, "figure": figure, "mib": func(x float64) string { return figure("%.1f MiB", x/(1<<20)) },
	"cells": func(format string, s spread) string {
		return fmt.Sprintf(format+"\t"+format+"-"+format, s.Median, s.Min, s.Max)
	},
	"of":    func(figure string, c rows) spread { return c.spread(serverFigures[figure]) },
	"first": func(n int, list []string) []string { return list[:min(n, len(list))] },
}).Parse(resultText))

// serverFigures are figures of a round whose worst, or median, is printed.
var serverFigures = map[string]func(x round) float64{
	"connections":     func(x round) float64 { return float64(x.Referee.Connections) },
	"coverage":        func(x round) float64 { return x.Referee.Coverage },
	"duplicates":      func(x round) float64 { return float64(x.Referee.Duplicates) },
	"steady":          func(x round) float64 { return x.Referee.Steady },
	"of permitted":    func(x round) float64 { return x.Referee.OfPermitted },
	"all hosts after": func(x round) float64 { return x.Referee.MetAfter },
	"short":           func(x round) float64 { return float64(x.Referee.Short) },
	"gaps":            func(x round) float64 { return float64(x.Referee.Gaps) },
	"files":           func(x round) float64 { return float64(x.Files) },
	"known":           func(x round) float64 { return float64(x.Referee.Known) },
}

func (r *result) writeText(out io.Writer) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	return errors.Join(resultTemplate.Execute(tw, r), tw.Flush())
}

// figure formats a number; 0 is "-".
func figure(format string, x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf(format, x)
}
