package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/procgroup"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/frontier/model"
	"curtsy/storage/plainly"
)

// Setup scale repeats the same work with growing numbers of known URLs and hosts. Whole crawls are measured as far as they
// take seconds; beyond that, and for more hosts than loopback has addresses, only the frontier is, under a synthetic load:
// everything else costs the same whatever is known.

// The measures of a step.
const (
	scaleCrawl = "crawl"
	scaleBolt  = "frontier"         // only
	scaleModel = "frontier, memory" // only
)

// Limits of the steps.
const (
	leastPages    = 250 // a shorter crawl is mostly start and end
	mostModelURLs = 100_000
	mostCrawlURLs = 1_000_000
)

type scaleStep struct {
	Of     string `json:"of"`
	Varied string `json:"varied"` // urls or hosts
	loadStats
}

func (b *bench) scale(ctx context.Context, r *result) error {
	urls := []int{1000, 10_000, 100_000, 1_000_000}
	if b.given("discovered") {
		urls = slices.Sorted(slices.Values(b.discovered))
	}
	if len(urls) == 0 || urls[0] < 1 {
		return cli.Usagef("--discovered: write how many URLs, at least 1")
	}
	for _, s := range scaleSteps(urls) {
		what := fmt.Sprintf("%s, %s at %s", s.Of, plainly.Count(s.URLs, "URL"), plainly.Count(s.Hosts, "host"))
		step := b.frontierStep
		if s.Of == scaleCrawl {
			step = b.crawlStep
		}
		if err := step(ctx, r, &s); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		b.say("%s: %.3f CPU ms per page", what, s.CPU)
		r.Steps = append(r.Steps, s)
	}
	if b.svg == "" {
		return nil
	}
	picture, err := r.scaleSVG()
	if err != nil {
		return err
	}
	return os.WriteFile(b.svg, picture, 0o666)
}

// scaleSteps are the measurements for these numbers of URLs, and for growing numbers of hosts.
func scaleSteps(urls []int) (all []scaleStep) {
	step := func(of, varied string, urls, hosts, pages int) {
		all = append(all, scaleStep{of, varied, loadStats{URLs: urls, Hosts: hosts, Pages: pages}})
	}
	for _, n := range urls {
		if n/links >= leastPages && n <= mostCrawlURLs {
			step(scaleCrawl, "urls", n, 1, n/links)
		}
	}
	for _, n := range urls {
		step(scaleBolt, "urls", n, max(1, n/100), 0)
	}
	for _, n := range urls {
		if n <= mostModelURLs {
			step(scaleModel, "urls", n, max(1, n/100), 0)
		}
	}
	most := urls[len(urls)-1]
	pages, known := min(2000, max(most/10, 1)), min(200_000, most)
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

// crawlStep measures a whole crawl: of an endless web, or of many hosts.
func (b *bench) crawlStep(ctx context.Context, r *result, s *scaleStep) error {
	web := webConfig{Hosts: s.Hosts, Pages: s.Pages, Width: 1, Endless: s.Varied == "urls"}
	if web.Endless {
		web.Width = b.workers
	}
	x, err := b.measure(ctx, contender{name: curtsy, web: web, job: b.crawlJob(web)}, 0)
	s.CPU, s.PeakRSS = x.CPUPerPage, x.PeakRSS
	r.Violations = append(r.Violations, x.Referee.violations()...)
	return err
}

// frontierStep measures a frontier in a process of its own.
func (b *bench) frontierStep(ctx context.Context, _ *result, s *scaleStep) error {
	dir, err := os.MkdirTemp(b.tmp, "frontier-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	j := job{Do: "frontier", Dir: dir, URLs: s.URLs, Hosts: s.Hosts, Model: s.Of == scaleModel, Out: filepath.Join(dir, "out")}
	p := process{words: append([]string{b.self}, j.words()...), env: b.env, limit: patience, grace: procgroup.Grace}
	_, err = p.result(ctx, j.Out, &s.loadStats)
	return err
}

func (r *result) scaleTable() (t [][]string) {
	t = [][]string{{"PART", "URLS KNOWN", "HOSTS", "PAGES", "CPU MS/PAGE", "DISK/URL", "RAM/URL", "PEAK RSS"}}
	for _, s := range r.Steps {
		t = append(t, []string{s.Of, fmt.Sprint(s.URLs), fmt.Sprint(s.Hosts), fmt.Sprint(s.Pages), fmt.Sprintf("%.4f", s.CPU),
			figure("%.1f B", s.Disk), figure("%.1f B", s.RAM), mib(float64(s.PeakRSS))})
	}
	return t
}

// The load of a frontier without its crawler is that of the benchmarks in frontier/bolt: URLs of some 70 bytes, the chance
// of host k proportional to 1/(k+10); of the 40 links of a page 2 are new, the others drawn from all known URLs; each turn
// returns a pace, a robots state of 300 bytes and 24 bytes that change.
const (
	loadFresh = 2    // new links of a page
	loadTurns = 32   // of a Claim
	loadPages = 4000 // measured, at most
	loadBatch = 1 << 14
	loadFlat  = 10.0
)

// loadStats is the cost of a load.
type loadStats struct {
	URLs    int     `json:"urls"` // before the load
	Hosts   int     `json:"hosts"`
	Pages   int     `json:"pages"`
	CPU     float64 `json:"cpu_ms_per_page"` // of Claim, Finish and Sync with the commits; links are made with the clock stopped
	Disk    float64 `json:"disk_octets_per_url"`
	RAM     float64 `json:"ram_octets_per_url"` // held by the Go runtime after a collection, less what it held before
	PeakRSS int64   `json:"peak_rss_bytes"`
}

// loadFrontier fills a frontier, on disk or in memory, and puts pages through it.
func loadFrontier(ctx context.Context, dir string, urls, hosts int, inMemory bool) (s loadStats, err error) {
	s = loadStats{URLs: urls, Hosts: hosts, Pages: min(loadPages, max(urls/2, 100))}
	before, path := heldMemory(), filepath.Join(dir, "frontier.db")
	var f frontier.Frontier = model.New(frontier.Options{})
	if !inMemory {
		if f, err = engine.Open(path, frontier.Options{}); err != nil {
			return s, err
		}
	}
	l := &frontierLoad{f: f, hosts: hosts, known: urls}
	for n := 0; n < urls && err == nil; n += loadBatch {
		var cs []frontier.Candidate
		for i := n; i < min(urls, n+loadBatch) && err == nil; i++ {
			var c frontier.Candidate
			c, err = l.link(i)
			cs = append(cs, c)
		}
		if err == nil {
			_, err = f.Add(ctx, cs)
		}
	}
	if err = errors.Join(err, f.Sync(ctx)); err == nil {
		s.RAM = max(0, float64(heldMemory()-before)/float64(urls))
		var cpu time.Duration
		cpu, err = l.run(ctx, s.Pages)
		s.CPU, s.PeakRSS = 1e3*cpu.Seconds()/float64(s.Pages), peakRSS()
	}
	if err = errors.Join(err, f.Close()); err != nil || inMemory {
		return s, err
	}
	file, err := os.Stat(path)
	if err == nil {
		s.Disk = float64(file.Size()) / float64(urls+loadFresh*s.Pages)
	}
	return s, err
}

// heldMemory is what the Go runtime holds after a collection.
func heldMemory() int64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

type frontierLoad struct {
	f            frontier.Frontier
	hosts, known int
	page         int // pages so far
}

// run puts pages through the frontier and returns the processor time of that.
func (l *frontierLoad) run(ctx context.Context, pages int) (cpu time.Duration, err error) {
	for l.page < pages {
		var found []frontier.Candidate
		for p := l.page; p < pages && len(found) < loadBatch; p++ {
			for i := range links {
				n := l.known + loadFresh*p + i
				if i >= loadFresh {
					n = int(mix((uint64(p*links+i)<<1|1)+golden) % uint64(l.known))
				}
				c, err := l.link(n)
				if err != nil {
					return cpu, err
				}
				found = append(found, c)
			}
		}
		begun := ownCPU()
		for len(found) > 0 {
			if found, err = l.turns(ctx, found); err != nil {
				return cpu, err
			}
		}
		if err := l.f.Sync(ctx); err != nil {
			return cpu, err
		}
		cpu += ownCPU() - begun
	}
	return cpu, nil
}

// turns claims and finishes some turns, and returns the links that are left.
func (l *frontierLoad) turns(ctx context.Context, found []frontier.Candidate) ([]frontier.Candidate, error) {
	claimed, err := l.f.Claim(ctx, frontier.Want{Hosts: min(loadTurns, len(found)/links), Tasks: 1, MaxWait: time.Hour})
	if err != nil {
		return nil, err
	}
	if len(claimed.Turns) == 0 {
		return nil, fmt.Errorf("nothing is left after %d pages", l.page)
	}
	var results []frontier.Result
	for _, t := range claimed.Turns {
		var memory []byte
		for i := range 3 {
			memory = binary.LittleEndian.AppendUint64(memory, mix(uint64(4*l.page+i)+golden))
		}
		results = append(results, frontier.Result{Authority: t.Authority, Token: t.Token, Wait: time.Microsecond,
			Done:  []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Fetched}},
			Found: found[:links:links],
			Host:  &frontier.HostUpdate{Pace: time.Second, Robots: make([]byte, 300), Memory: memory},
		})
		found = found[links:]
		l.page++
	}
	_, err = l.f.Finish(ctx, results)
	return found, err
}

// link is link n: always the same.
func (l *frontierLoad) link(n int) (c frontier.Candidate, err error) {
	share := float64(mix(uint64(n/2)+golden)>>11) / (1 << 53)
	host := int(loadFlat * (math.Pow(1+float64(l.hosts)/loadFlat, share) - 1)) // the inverse of the distribution
	seed := fmt.Sprintf("https://www.site-%06d.example/", host)
	u, err := canon.Parse(string(loadPath([]byte(seed), n)))
	return frontier.Candidate{URL: u, Kind: frontier.KindLink, Depth: 3, Seed: seed, Tag: "bench", Via: string(loadPath([]byte(seed), n/2))}, err
}

func loadPath(b []byte, n int) []byte {
	words := [...]string{"news/", "article/", "products/", "category/", "library/", "archive/", "images/", "forum/"}
	x := mix(uint64(n)<<1 + golden)
	for range 3 {
		b = append(b, words[x%uint64(len(words))]...)
		x /= uint64(len(words))
	}
	return append(strconv.AppendInt(b, int64(n), 10), ".html"...)
}
