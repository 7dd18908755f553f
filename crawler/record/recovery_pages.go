package record

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
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
func (p *Pages) Recollect(a canon.Authority, memory *host.State, clock Clock, counts map[string]int64, tags bool) {
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

// AddTo adds the pages of all hosts to totals, by tag as well if tags says so, and returns how many pages there are of each
// registrable domain.
func (p *Pages) AddTo(counts map[string]int64, tags bool) (domains map[string]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	domains = map[string]int64{}
	for a, pages := range p.hosts {
		add(counts, pages, tags)
		domains[a.RegistrableDomain()] += int64(len(pages))
	}
	return domains
}

func add(counts map[string]int64, pages []page, tags bool) {
	for _, page := range pages {
		counts[budget.Pages]++
		if tags && page.tag != "" {
			counts[budget.OfTag(page.tag)]++
		}
	}
}

// Read takes the pages of lines that f does not count, of those that were decided at since or later.
func (p *Pages) Read(ctx context.Context, lines iter.Seq2[storage.Line, error], since time.Time, f frontier.Reader, clock Clock) error {
	if lines == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = map[canon.Authority][]page{}
	last := map[canon.Authority]int64{} // ends of the last exchanges that f knows of, with hosts that have pages
	for l, err := range lines {
		if err != nil {
			return fmt.Errorf("crawler: pages fetched before the kill: %w", err)
		}
		if l.Began.IsZero() || l.Time.Before(since) || !l.IsPage() && len(p.hosts) == 0 {
			continue
		}
		u, err := canon.Parse(l.URL)
		if err != nil {
			continue
		}
		a := u.Authority()
		if _, met := last[a]; !met && !l.IsPage() {
			continue
		} else if !met {
			h, _, err := f.Host(ctx, a)
			if err != nil {
				return err
			}
			memory, err := host.Read(h.Memory)
			if err != nil {
				return fmt.Errorf("%s: %w", a, err)
			}
			last[a] = memory.LastEnd
		}
		switch end := clock.Micros(endOf(l).Add(-l.Ahead)); {
		case end > last[a]+rounding: // what f counts is not later
			if l.IsPage() {
				p.hosts[a] = append(p.hosts[a], page{l.Tag, end})
			}
		case end >= last[a]-rounding: // f knows it, and what is before it in the ledger, though a clock was set back in between
			delete(p.hosts, a)
		}
	}
	return nil
}
