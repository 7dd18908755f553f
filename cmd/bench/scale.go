package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"curtsy/cmd/curtsy/procgroup"
	"curtsy/storage/plainly"
)

// The same work with more and more known: what does a page cost, and a URL? Whole crawls are measured as far as they take
// seconds; beyond that, and for more hosts than one machine has addresses to spare, the frontier alone under a synthetic
// load, since all else costs the same whatever is known.

// What a step of scale is of.
const (
	scaleCrawl = "crawl"            // everything on
	scaleBolt  = "frontier"         // alone
	scaleModel = "frontier, memory" // a frontier that keeps nothing on disk, alone
)

const (
	scaleLeast      = 250     // pages: a shorter crawl is all start and end
	scaleHostPages  = 2000    // of a crawl of many hosts
	scaleMostModel  = 100_000 // URLs: the model is not made for more
	scaleHostURLs   = 200_000 // of the frontier alone, when hosts are varied
	scaleLarge      = 10_000_000
	scaleLargeCrawl = 1_000_000 // URLs that a crawl comes to
)

// scaleStep is one measurement.
type scaleStep struct {
	Of     string `json:"of"`
	Varied string `json:"varied"` // urls or hosts
	loadStats
}

// ScaleResult is what --setup scale found.
type ScaleResult struct {
	Schema  int         `json:"schema"`
	Version string      `json:"curtsy"`
	Go      string      `json:"go"`
	System  string      `json:"system"`
	CPUs    int         `json:"cpus"`
	Time    time.Time   `json:"time"`
	Dir     string      `json:"dir"`
	Steps   []scaleStep `json:"steps"`
}

// scale measures all steps, and draws them.
func (c *Config) scale(ctx context.Context, p *Plan, say Say) (_ Report, err error) {
	urls := []int{1000, 10_000, 100_000, 1_000_000}
	if c.Given("discovered") {
		urls = slices.Sorted(slices.Values(c.Discovered))
	}
	if c.Large {
		urls = append(urls, scaleLarge)
	}
	if len(urls) == 0 || urls[0] < 1 {
		return nil, usagef("--discovered: write how many URLs, at least 1")
	}
	m, err := p.prepare()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	r := ScaleResult{Schema: schema, Version: p.version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Time: time.Now().UTC().Truncate(time.Second), Dir: m.dir}
	for _, step := range scaleSteps(urls) {
		if err := p.step(ctx, m, &step); err != nil {
			return nil, fmt.Errorf("bench: %s with %s at %s: %w", step.Of, plainly.Count(step.URLs, "URL"), plainly.Count(step.Hosts, "host"), err)
		}
		say("%s, %s at %s: %.3f CPU ms per page", step.Of, plainly.Count(step.URLs, "URL"), plainly.Count(step.Hosts, "host"), step.CPU)
		r.Steps = append(r.Steps, step)
	}
	if c.SVG != "" {
		if err := os.WriteFile(c.SVG, scaleSVG(&r), 0o666); err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
	}
	return &r, nil
}

// scaleSteps are the measurements, for so many URLs and for a ladder of hosts.
func scaleSteps(urls []int) (all []scaleStep) {
	most := urls[len(urls)-1]
	step := func(of, varied string, urls, hosts, pages int) {
		all = append(all, scaleStep{of, varied, loadStats{URLs: urls, Hosts: hosts, Pages: pages}})
	}
	for _, n := range urls {
		if pages := n / Links; pages >= scaleLeast && n <= scaleLargeCrawl {
			step(scaleCrawl, "urls", n, 1, pages)
		}
	}
	for _, n := range urls {
		step(scaleBolt, "urls", n, max(1, n/100), 0)
	}
	for _, n := range urls {
		if n <= scaleMostModel {
			step(scaleModel, "urls", n, max(1, n/100), 0)
		}
	}
	pages, known := min(scaleHostPages, max(most/10, 1)), min(scaleHostURLs, most)
	for _, hosts := range []int{1, 10, 100, 1000} {
		if 2*hosts <= pages {
			step(scaleCrawl, "hosts", pages, hosts, pages)
		}
	}
	for _, hosts := range []int{1, 100, 10_000, 100_000} {
		if hosts <= known {
			step(scaleBolt, "hosts", known, hosts, 0)
		}
	}
	return all
}

// step does a measurement.
func (p *Plan) step(ctx context.Context, m *measuring, s *scaleStep) error {
	if s.Of == scaleCrawl {
		return p.crawlStep(ctx, m, s)
	}
	dir, err := os.MkdirTemp(m.dir, "frontier-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it goes with m.dir in any case
	args := []string{"frontier", "--dir", dir, "--urls", strconv.Itoa(s.URLs), "--hosts", strconv.Itoa(s.Hosts)}
	if s.Of == scaleModel {
		args = append(args, "--model")
	}
	cmd := exec.CommandContext(ctx, m.self, args...)
	cmd.Env, cmd.WaitDelay = m.env, procgroup.Grace
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String())))
	}
	return json.Unmarshal(out, &s.loadStats)
}

// crawlStep measures a whole crawl: with few hosts one that discovers ever more, with many one that fetches all.
func (p *Plan) crawlStep(ctx context.Context, m *measuring, s *scaleStep) error {
	web := WebConfig{Seed: webSeed, Hosts: s.Hosts, Pages: s.Pages, Width: 1, Endless: s.Varied == "urls"}
	if web.Endless {
		web.Width = p.workers
	}
	run, err := p.measure(ctx, m, contender{name: nameCurtsy, args: p.ownArgs(web), web: web, ours: true}, 0)
	if err != nil {
		return err
	}
	if found := run.Referee.Violations(); len(found) > 0 {
		return &Found{fmt.Errorf("the servers found a violation, or an incomplete crawl: %s", found[0])}
	}
	s.CPU, s.PeakRSS = run.CPUPerPage, run.PeakRSS
	return nil
}

// Verdict is nil: what the referee found ended the bench before.
func (r *ScaleResult) Verdict() error { return nil }

// WriteText prints the steps for people.
func (r *ScaleResult) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "curtsy %s, %s, %s, %s\n\n", r.Version, r.Go, r.System, plainly.Count(r.CPUs, "CPU"))
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "WHAT\tURLS KNOWN\tHOSTS\tPAGES\tCPU MS/PAGE\tDISK/URL\tRAM/URL\tPEAK RSS")
	octets := func(x float64) string {
		if x == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f B", x)
	}
	for i, s := range r.Steps {
		if i > 0 && r.Steps[i-1].Varied != s.Varied {
			fmt.Fprintln(tw)
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%.4f\t%s\t%s\t%.1f MiB\n", s.Of, s.URLs, s.Hosts, s.Pages, s.CPU, octets(s.Disk), octets(s.RAM), float64(s.PeakRSS)/(1<<20))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}
