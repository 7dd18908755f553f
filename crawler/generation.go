package crawler

import (
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
)

// Generation says which turn of its life a crawl is in. The first begins with it, and each update begins another one: a
// frontier of its own, over the same archive and ledger. It is kept among the totals of the frontier, so that it changes
// with that in one step.
type Generation struct {
	Number int64     // from 1
	Began  time.Time // what is archived before it is the past; zero in the first
	Lines  int64     // decisions in the ledger before it
	Before int64     // decisions in the ledger before the generation before; before the last finished one, if that was not
}

// The names of the totals that hold it.
const (
	countGeneration = "generation"
	countGenBegan   = "generation began"        // microseconds of the wall clock
	countGenLines   = "generation lines"        // Lines
	countGenBefore  = "generation lines before" // Before
)

// GenerationOf reads it from the totals of a frontier.
func GenerationOf(counts map[string]int64) Generation {
	g := Generation{Number: max(counts[countGeneration], 1), Lines: counts[countGenLines], Before: counts[countGenBefore]}
	if at := counts[countGenBegan]; at > 0 {
		g.Began = time.UnixMicro(at).UTC()
	}
	return g
}

// Counts are the totals that a frontier of g begins with. All others begin anew: budgets are those of a generation.
func (g Generation) Counts() map[string]int64 {
	return map[string]int64{
		countGeneration: g.Number, countGenBegan: g.Began.UnixMicro(), countGenLines: g.Lines, countGenBefore: g.Before,
	}
}

// NextHost is what is kept of a host in the next generation: all that politeness needs (its condition, how long it rests,
// its pace, its robots policy, what is in a row), and nothing of what it brought.
func NextHost(h frontier.Host) (frontier.Host, error) {
	n, err := host.Read(h.Memory)
	if err != nil {
		return h, err
	}
	n.Pages, n.Sitemaps, n.History = 0, 0, nil
	next := frontier.Host{Authority: h.Authority, HostUpdate: h.HostUpdate, Hold: h.Hold, Wait: h.Wait}
	if next.Condition == frontier.Retired { // of a run
		next.Condition, next.Reason = frontier.Open, ""
	}
	if len(h.Memory) > 0 {
		next.Memory = n.Append(nil)
	}
	return next, nil
}
