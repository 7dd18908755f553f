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

// Costs is what exchanges cost that no turn has counted: the next turn that is finished does. A turn whose lease ran out
// counts for nothing, but its exchange was made and is archived; and after a kill the ledger tells of exchanges whose turns
// the frontier never saw the end of. So a status counts the exchanges that an audit finds lines of.
type Costs struct {
	mu     sync.Mutex
	counts map[string]int64
}

// Give puts what is carried into the counts of a turn.
func (c *Costs) Give(counts map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range c.counts {
		counts[name] += n
	}
	clear(c.counts)
}

// Keep takes the costs from the counts of a turn that was not applied.
func (c *Costs) Keep(counts map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range counts {
		if budget.IsCost(name) && n != 0 {
			c.counts[name] += n
		}
	}
}

// All is what is carried, by total.
func (c *Costs) All() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// Recover takes up the exchanges that only the ledger tells of after a kill, and returns the totals of a frontier with them.
// asked sums up the ledger; nil is for one that knows no more.
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

// rest is the last rest of a host by the ledger.
type rest struct {
	end  time.Time // of the exchange that imposed it
	pace host.Pace
	why  string
}

// until is when it is over.
func (r rest) until() time.Time { return r.end.Add(r.pace.Pause) }

// maxRests bounds how many hosts are remembered. A ledger of ours names far fewer within an hour of its end.
const maxRests = 1 << 18

// Rests are the hosts that rest by the ledger. The zero value is none.
type Rests map[canon.Authority]rest

// ReadRests reads lines that say a rest. Whether the frontier knows of it is seen at each host's turn. answered says that some
// host answered, whatever the frontier knows.
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
		last := rest{endOf(l), host.Pace{Pause: l.Rest, By: l.RestBy}, whyRests(l)}
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

// endOf is when the attempt of a line was over: of one that reached nobody, when that was decided.
func endOf(l storage.Line) time.Time {
	if l.Began.IsZero() {
		return l.Time
	}
	return l.Began.Add(l.Took)
}

// whyRests says why a host rests, from the line of the exchange that imposed it.
func whyRests(l storage.Line) string {
	why := fmt.Sprintf("status %d", l.Status)
	if l.Status == 0 {
		why = l.Reason
	}
	return why + " before the kill"
}

// rounding is by how many microseconds the end of an exchange may differ between ledger and frontier.
const rounding = 10

// Recollect sets down in the memory of a host the exchange that the frontier does not know of, if there was one.
func (r Rests) Recollect(a canon.Authority, memory *host.State, clock Clock) {
	last, ok := r[a]
	if end := clock.Micros(last.end); ok && end > memory.LastEnd+rounding {
		memory.LastEnd, memory.Due = end, last.pace
	}
}

// Left is what is left of the rest of a host, if nothing was asked of it since.
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
