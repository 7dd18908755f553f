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
	"strconv"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/frontier/model"
)

// The frontier alone, put under the load of a crawl that has no crawler: turns are claimed and finished at once, with
// what real ones bring. It is the load of the benchmarks in frontier/bolt, short.
//
//	URLs    some 70 octets; the chance of host k is as 1/(k+10)
//	pages   have 40 links, 2 of them new and 38 drawn from all URLs that are known, each as likely as any other
//	hosts   each turn says what the host is like now: a pace, a robots state of 300 octets, 24 octets that change

const (
	loadFresh  = 2    // new links of a page
	loadTurns  = 32   // of a Claim
	loadPages  = 4000 // measured, at most
	loadBatch  = 1 << 14
	loadFlat   = 10.0
	loadMoment = time.Microsecond // until a host's next turn
)

// loadStats is what a load took.
type loadStats struct {
	URLs     int     `json:"urls"` // before the load
	Hosts    int     `json:"hosts"`
	Pages    int     `json:"pages"`
	CPU      float64 `json:"cpu_ms_per_page"` // of Claim, Finish and Sync with the commits; links are made with the clock stopped
	Disk     float64 `json:"disk_octets_per_url"`
	RAM      float64 `json:"ram_octets_per_url"` // that the Go runtime holds after a collection, less what it held before
	PeakRSS  int64   `json:"peak_rss_bytes"`
	FillTime float64 `json:"fill_s"`
}

// LoadFrontier fills a frontier, on disk or a volatile one in memory, and puts pages through it.
func LoadFrontier(ctx context.Context, dir string, urls, hosts int, volatile bool) (s loadStats, err error) {
	if urls < 1 || hosts < 1 {
		return s, usagef("bench frontier: --urls %d --hosts %d: at least one of each", urls, hosts)
	}
	s = loadStats{URLs: urls, Hosts: hosts, Pages: min(loadPages, max(urls/2, 100))}
	before := heldMemory()
	path := filepath.Join(dir, "frontier.db")
	var f frontier.Frontier = model.New(frontier.Options{})
	if !volatile {
		if f, err = engine.Open(path, frontier.Options{}); err != nil {
			return s, err
		}
	}
	l := &frontierLoad{f: f, hosts: hosts, known: urls}
	begun := time.Now()
	if err := l.fill(ctx); err != nil {
		return s, errors.Join(fmt.Errorf("bench: fill the frontier: %w", err), f.Close())
	}
	s.FillTime = time.Since(begun).Seconds()
	s.RAM = max(0, float64(heldMemory()-before)/float64(urls))
	cpu, err := l.run(ctx, s.Pages)
	s.CPU = 1e3 * cpu.Seconds() / float64(s.Pages)
	s.PeakRSS = peakRSS()
	if err := errors.Join(err, f.Close()); err != nil {
		return s, fmt.Errorf("bench: frontier only: %w", err)
	}
	if !volatile {
		file, err := os.Stat(path)
		if err != nil {
			return s, fmt.Errorf("bench: %w", err)
		}
		s.Disk = float64(file.Size()) / float64(urls+loadFresh*s.Pages)
	}
	return s, nil
}

// heldMemory is what the Go runtime holds when garbage is collected.
func heldMemory() int64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// frontierLoad is a crawl without its crawler.
type frontierLoad struct {
	f     frontier.Frontier
	hosts int
	known int // URLs when the load begins
	page  int // pages so far
	text  []byte
}

// fill adds what is known when the load begins.
func (l *frontierLoad) fill(ctx context.Context) error {
	var cs []frontier.Candidate
	for n := 0; n < l.known; {
		cs = cs[:0]
		for ; n < l.known && len(cs) < loadBatch; n++ {
			c, err := l.link(n)
			if err != nil {
				return err
			}
			cs = append(cs, c)
		}
		if _, err := l.f.Add(ctx, cs); err != nil {
			return err
		}
	}
	return l.f.Sync(ctx)
}

// run puts pages through the frontier, and returns the processor time of that.
func (l *frontierLoad) run(ctx context.Context, pages int) (cpu time.Duration, err error) {
	var links []frontier.Candidate
	for l.page < pages {
		links = links[:0]
		for p := l.page; p < pages && len(links) < loadBatch; p++ {
			if links, err = l.links(links, p); err != nil {
				return cpu, err
			}
		}
		begun := ownCPU()
		for len(links) > 0 {
			if links, err = l.turns(ctx, links); err != nil {
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
func (l *frontierLoad) turns(ctx context.Context, links []frontier.Candidate) ([]frontier.Candidate, error) {
	want := frontier.Want{Hosts: min(loadTurns, len(links)/Links), Tasks: 1, MaxWait: time.Hour}
	claimed, err := l.f.Claim(ctx, want)
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
			memory = binary.LittleEndian.AppendUint64(memory, loadMix(uint64(4*l.page+i)))
		}
		results = append(results, frontier.Result{Authority: t.Authority, Token: t.Token, Wait: loadMoment,
			Done:  []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Fetched}},
			Found: links[:Links:Links],
			Host:  &frontier.HostUpdate{Pace: time.Second, Robots: make([]byte, 300), Memory: memory},
		})
		links = links[Links:]
		l.page++
	}
	_, err = l.f.Finish(ctx, results)
	return links, err
}

// links appends those of page p.
func (l *frontierLoad) links(to []frontier.Candidate, p int) ([]frontier.Candidate, error) {
	for i := range Links {
		n := l.known + loadFresh*p + i
		if i >= loadFresh {
			n = int(loadMix(uint64(p*Links+i)<<1|1) % uint64(l.known))
		}
		c, err := l.link(n)
		if err != nil {
			return to, err
		}
		to = append(to, c)
	}
	return to, nil
}

// link is link n: always the same.
func (l *frontierLoad) link(n int) (c frontier.Candidate, err error) {
	share := float64(loadMix(uint64(n/2))>>11) / (1 << 53)
	host := int(loadFlat * (math.Pow(1+float64(l.hosts)/loadFlat, share) - 1)) // the inverse of the distribution
	l.text = fmt.Appendf(l.text[:0], "https://www.site-%06d.example/", host)
	root := len(l.text)
	seed := string(l.text)
	l.text = loadPath(l.text, n)
	if c.URL, err = canon.Parse(string(l.text)); err != nil {
		return c, err
	}
	via := string(loadPath(l.text[:root], n/2))
	c.Kind, c.Depth, c.Seed, c.Tag, c.Via = frontier.KindLink, 3, seed, "bench", via
	return c, nil
}

func loadPath(b []byte, n int) []byte {
	words := [...]string{"news/", "article/", "products/", "category/", "library/", "archive/", "images/", "forum/"}
	x := loadMix(uint64(n) << 1)
	for range 3 {
		b = append(b, words[x%uint64(len(words))]...)
		x /= uint64(len(words))
	}
	return append(strconv.AppendInt(b, int64(n), 10), ".html"...)
}

// loadMix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014): neighbours become independent.
func loadMix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
