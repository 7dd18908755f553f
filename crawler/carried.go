package crawler

import (
	"fmt"
	"maps"
	"sync"

	"curtsy/crawler/status"
	"curtsy/crawler/totals"
	"curtsy/storage"
)

// carried is what exchanges cost that no turn has counted: the next turn that is finished does. A turn whose lease ran out
// counts for nothing, but its exchange was made and is archived; and after a kill the ledger tells of exchanges whose turns
// the frontier never saw the end of. So a status counts the exchanges that an audit finds lines of.
type carried struct {
	mu     sync.Mutex
	counts map[string]int64
}

// give puts what is carried into the counts of a turn.
func (c *carried) give(counts map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range c.counts {
		counts[name] += n
	}
	clear(c.counts)
}

// keep takes the costs from the counts of a turn that was not applied.
func (c *carried) keep(counts map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range counts {
		if totals.IsCost(name) && n != 0 {
			c.counts[name] += n
		}
	}
}

// into adds what is carried to a status.
func (c *carried) into(s *status.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Exchanges += c.counts[totals.Exchanges]
	s.Robots += c.counts[totals.Robots]
	s.Bytes += c.counts[totals.Bytes]
}

// uncounted returns the totals of a frontier with the exchanges that only the ledger tells of, after a kill, and what these
// are.
func (c *Crawl) uncounted(counted map[string]int64) (all, only map[string]int64, err error) {
	only = map[string]int64{}
	if !c.unclean || c.cfg.Asked == nil {
		return counted, only, nil
	}
	told, err := c.cfg.Asked()
	if err != nil {
		return nil, nil, fmt.Errorf("crawler: what was asked before the kill: %w", err)
	}
	more := told.Beyond(storage.Asked{
		Exchanges: counted[totals.Exchanges], Answers: counted[totals.Answers], Robots: counted[totals.Robots], Octets: counted[totals.Bytes],
	})
	only[totals.Exchanges], only[totals.Answers], only[totals.Robots], only[totals.Bytes] = more.Exchanges, more.Answers, more.Robots, more.Octets
	all = maps.Clone(counted)
	for name, n := range only {
		all[name] += n
	}
	return all, only, nil
}
