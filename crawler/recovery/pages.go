package recovery

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"curtsy/crawler/host"
	"curtsy/crawler/steady"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Pages are the pages of each host that the ledger names and the frontier does not count, because a kill came before its
// commit. The host's next turn counts them, so that no budget of pages is exceeded (politeness rule 15); a page that is
// fetched again counts again. The zero value has none. The methods may be called concurrently.
type Pages struct {
	mu    sync.Mutex
	hosts map[canon.Authority][]page
}

type page struct {
	tag string // of its seed
	end int64  // of its exchange, in microseconds of the crawl's steady clock
}

// Applied says that the frontier counts the pages of a host.
func (p *Pages) Applied(a canon.Authority) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.hosts, a)
}

// Recollect counts the pages of a host in its memory, and adds them to the totals of its turn.
func (p *Pages) Recollect(a canon.Authority, memory *host.State, clock steady.Clock, counts map[string]int64, tags bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Micros(time.Now())
	for _, page := range p.hosts[a] {
		memory.Pages++
		memory.LastEnd = max(memory.LastEnd, min(page.end, now)) // after another kill the frontier knows of it
	}
	add(counts, p.hosts[a], tags)
}

// Total is how many pages there are.
func (p *Pages) Total() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pages := range p.hosts {
		n += int64(len(pages))
	}
	return n
}

// AddTo adds the pages of all hosts to totals, and returns how many pages there are of each registrable domain.
func (p *Pages) AddTo(counts map[string]int64) (domains map[string]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	domains = map[string]int64{}
	for a, pages := range p.hosts {
		add(counts, pages, true)
		domains[a.RegistrableDomain()] += int64(len(pages))
	}
	return domains
}

func add(counts map[string]int64, pages []page, tags bool) {
	for _, page := range pages {
		counts[totals.Pages]++
		if tags && page.tag != "" {
			counts[totals.OfTag(page.tag)]++
		}
	}
}

// Read takes the pages of lines that f does not count, of those that were decided at since or later.
func (p *Pages) Read(ctx context.Context, lines iter.Seq2[storage.Line, error], since time.Time, f frontier.Reader, clock steady.Clock) error {
	if lines == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = map[canon.Authority][]page{}
	for l, err := range lines {
		if err != nil {
			return fmt.Errorf("crawler: what was fetched before the kill: %w", err)
		}
		if !l.IsPage() || l.Time.Before(since) {
			continue
		}
		if u, err := canon.Parse(l.URL); err == nil {
			a := u.Authority()
			p.hosts[a] = append(p.hosts[a], page{l.Tag, clock.Micros(endOf(l).Add(-l.Ahead))})
		}
	}
	for a, pages := range p.hosts {
		h, _, err := f.Host(ctx, a)
		if err != nil {
			return err
		}
		memory, err := host.Read(h.Memory)
		if err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
		// What f counts is not later than the last exchange that it knows of.
		pages = slices.DeleteFunc(pages, func(page page) bool { return page.end <= memory.LastEnd+rounding })
		if p.hosts[a] = pages; len(pages) == 0 {
			delete(p.hosts, a)
		}
	}
	return nil
}
