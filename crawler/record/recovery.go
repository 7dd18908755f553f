package record

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Pages are the pages by host that the ledger has and the frontier lacks, because of a kill before its commit. The host's next
// turn counts them, so that no budget is exceeded (politeness rule 15); a page fetched again counts again. The zero value is
// empty. The methods may be called concurrently.
type Pages struct {
	mu    sync.Mutex
	hosts map[canon.Authority][]page
}

type page struct {
	tag string // of its seed
	end int64  // of its exchange, in microseconds of the crawl's steady clock
}

// Applied removes the pages of a host, which the frontier now counts.
func (p *Pages) Applied(a canon.Authority) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.hosts, a)
}

// Recollect adds the pages of a host to its memory and to the totals of its turn.
func (p *Pages) Recollect(a canon.Authority, memory *host.State, clock Clock, counts map[string]int64, tags bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Micros(time.Now())
	for _, page := range p.hosts[a] {
		memory.Pages++
		memory.LastEnd = max(memory.LastEnd, min(page.end, now)) // known after another kill
	}
	add(counts, p.hosts[a], tags)
}

func (p *Pages) Total() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pages := range p.hosts {
		n += int64(len(pages))
	}
	return n
}

// AddTo adds the pages of all hosts to totals, with tags also by tag, and returns them by registrable domain.
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

// Read adds the pages of lines since a time that f does not count.
func (p *Pages) Read(ctx context.Context, lines iter.Seq2[storage.Line, error], since time.Time, f frontier.Reader, clock Clock) error {
	if lines == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = map[canon.Authority][]page{}
	last := map[canon.Authority]int64{} // ends of the last exchanges in f, of hosts with pages
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
		case end > last[a]+rounding: // f has no later one
			if l.IsPage() {
				p.hosts[a] = append(p.hosts[a], page{l.Tag, end})
			}
		case end >= last[a]-rounding: // f has it and all earlier lines, even if a clock was set back in between
			delete(p.hosts, a)
		}
	}
	return nil
}

// Costs are the costs of exchanges that no turn has counted: of a turn with an expired lease, or before a kill. The next turn
// counts them, so that a status has all exchanges of the ledger.
type Costs struct {
	mu     sync.Mutex
	counts map[string]int64
}

// Give moves the costs into the counts of a turn.
func (c *Costs) Give(counts map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range c.counts {
		counts[name] += n
	}
	clear(c.counts)
}

// Keep takes back the costs of a turn that was not applied.
func (c *Costs) Keep(counts map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range counts {
		if budget.IsCost(name) && n != 0 {
			c.counts[name] += n
		}
	}
}

// All returns the costs by total.
func (c *Costs) All() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// Recover adds the exchanges that only the ledger has after a kill, and returns the totals of the frontier with them. asked sums
// up the ledger; it may be nil.
func (c *Costs) Recover(asked func() (storage.Asked, error), counted map[string]int64) (all map[string]int64, err error) {
	c.counts = map[string]int64{}
	if asked == nil {
		return maps.Clone(counted), nil
	}
	told, err := asked()
	if err != nil {
		return nil, fmt.Errorf("crawler: requests before the kill: %w", err)
	}
	more := told.Beyond(storage.Asked{
		Exchanges: counted[budget.Exchanges], Answers: counted[budget.Answers], Robots: counted[budget.Robots], Octets: counted[budget.Bytes],
		Kinds: counted,
	})
	c.counts[budget.Exchanges], c.counts[budget.Answers], c.counts[budget.Robots], c.counts[budget.Bytes] = more.Exchanges, more.Answers, more.Robots, more.Octets
	maps.Copy(c.counts, more.Kinds)
	all = maps.Clone(counted)
	for name, n := range c.counts {
		all[name] += n
	}
	return all, nil
}

// rest is the last back-off of a host in the ledger.
type rest struct {
	end  time.Time // of its exchange
	pace host.Pace
	why  string
}

func (r rest) until() time.Time { return r.end.Add(r.pace.Pause) }

// maxRests bounds the hosts in memory. A ledger has far fewer within an hour of its end.
const maxRests = 1 << 18

// Rests are the back-offs of hosts in the ledger. The zero value is empty.
type Rests map[canon.Authority]rest

// ReadRests reads the back-offs of lines. Each host's turn checks whether the frontier has them. answered means that some host
// has responded.
func ReadRests(lines iter.Seq2[storage.Line, error]) (hosts Rests, answered bool, err error) {
	if lines == nil {
		return nil, false, nil
	}
	now := time.Now()
	hosts = Rests{}
	for l, err := range lines {
		if err != nil {
			return nil, false, fmt.Errorf("crawler: delays that hosts required before the kill: %w", err)
		}
		answered = answered || l.Status > 0
		if l.Rest <= 0 || l.Rest > host.LongestAfter {
			continue
		}
		u, err := canon.Parse(l.URL)
		if err != nil {
			continue
		}
		why := l.Reason
		if l.Status != 0 {
			why = fmt.Sprintf("status %d", l.Status)
		}
		last := rest{endOf(l), host.Pace{Pause: l.Rest, By: l.RestBy}, why + " before the kill"}
		if last.end.After(now) { // a clock was set back
			last.end = now
		}
		a := u.Authority()
		if had, known := hosts[a]; last.until().After(now) && (known && last.until().After(had.until()) || !known && len(hosts) < maxRests) {
			hosts[a] = last
		}
	}
	return hosts, answered, nil
}

// endOf returns the end of the attempt of a line.
func endOf(l storage.Line) time.Time {
	if l.Began.IsZero() {
		return l.Time
	}
	return l.Began.Add(l.Took)
}

// rounding is the difference in microseconds of the end of an exchange between ledger and frontier.
const rounding = 10

// Recollect adds an exchange that the frontier lacks to the memory of a host.
func (r Rests) Recollect(a canon.Authority, memory *host.State, clock Clock) {
	last, ok := r[a]
	if end := clock.Micros(last.end); ok && end > memory.LastEnd+rounding {
		memory.LastEnd, memory.Due = end, last.pace
	}
}

// Left returns the rest of the back-off of a host, if there was no exchange since.
func (r Rests) Left(a canon.Authority, memory *host.State, clock Clock) (left host.Rest, ok bool) {
	last, ok := r[a]
	wait := min(time.Until(last.until()), last.pace.Pause)
	if !ok || wait <= 0 || memory.LastEnd > clock.Micros(last.end)+rounding {
		return left, false
	}
	left = host.Rest{Condition: frontier.Parked, Reason: last.why, Wait: wait, By: last.pace.By}
	if wait > host.Day {
		left.Condition = frontier.Retired // politeness rule 11
	}
	return left, true
}
