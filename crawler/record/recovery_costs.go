package record

import (
	"fmt"
	"maps"
	"sync"

	"curtsy/crawler/budget"
	"curtsy/storage"
)

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
