package budget

import "time"

// Generation says which turn of its life a crawl is in. The first begins with it, and each update begins another one: a
// frontier of its own, over the same archive and ledger. It is kept among the totals of the frontier, so that it changes
// with that in one step.
type Generation struct {
	Number int64     // from 1
	Began  time.Time // what is archived before it is the past; zero in the first
	Lines  int64     // decisions in the ledger before it
	Round  bool      // it asks for some pages alone, when they are due: what it leaves out is as it was
	Before int64     // decisions in the ledger before the generation before; before the last finished one, if that was not
}

// The names of the totals that hold it.
const (
	generation       = "generation"
	generationBegan  = "generation began"        // microseconds of the wall clock
	generationLines  = "generation lines"        // Lines
	generationBefore = "generation lines before" // Before
	generationRound  = "generation round"        // 1 with Round
)

// GenerationOf reads it from the totals of a frontier.
func GenerationOf(counts map[string]int64) Generation {
	g := Generation{Number: max(counts[generation], 1), Lines: counts[generationLines], Before: counts[generationBefore]}
	g.Round = counts[generationRound] > 0
	if at := counts[generationBegan]; at > 0 {
		g.Began = time.UnixMicro(at).UTC()
	}
	return g
}

// Counts are the totals that a frontier of g begins with. All others begin anew: budgets are those of a generation.
func (g Generation) Counts() map[string]int64 {
	counts := map[string]int64{
		generation: g.Number, generationBegan: g.Began.UnixMicro(), generationLines: g.Lines, generationBefore: g.Before,
	}
	if g.Round {
		counts[generationRound] = 1
	}
	return counts
}
