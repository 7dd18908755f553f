package report

import (
	"fmt"
	"time"

	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

// maxRuns is how many runs are told apart.
const maxRuns = 200

// ending gathers what the marks of a ledger say about the runs of a crawl.
type ending struct {
	runs  []Run
	more  int64     // runs beyond maxRuns
	stop  time.Time // of the last stop
	key   string    // of the last run
	any   bool      // there is a mark of a run
	ended bool      // the last run ended in good order
	torn  int64     // runs that did not end in good order, the last not counted

	acts     []Act
	moreActs int64 // beyond maxActs
}

// maxActs is how many acts of operators are shown.
const maxActs = 500

func (e *ending) mark(m *ledger.Mark) {
	switch m.Kind {
	case ledger.KindRun:
		if e.any && !e.ended {
			e.torn++
		}
		e.any, e.ended, e.key = true, false, m.Key
		if len(e.runs) >= maxRuns {
			e.more++
			return
		}
		e.runs = append(e.runs, Run{Began: m.Time.UTC(), Cut: m.Cut})
	case ledger.KindOperator:
		if len(e.acts) >= maxActs {
			e.moreActs++
			return
		}
		o := m.Operator
		e.acts = append(e.acts, Act{m.Time.UTC(), clean(o.Act), clean(o.About), o.URLs, clean(o.Note)})
	case ledger.KindStop:
		e.ended, e.stop = true, m.Time
		if n := len(e.runs); n > 0 && e.more == 0 {
			e.runs[n-1].Ended = m.Time.UTC().Format(time.RFC3339)
		}
	}
}

// tell says how the crawl ended.
func (e *ending) tell(c *Crawl) {
	c.Acts, c.MoreActs = e.acts, e.moreActs
	c.Runs, c.MoreRuns, c.Clean = e.runs, e.more, e.any && e.ended
	switch {
	case !e.any:
		c.Ended = "Not known: the ledger has no marks of its runs."
	case e.ended:
		c.Ended = "Its last run ended normally, " + instant(e.stop) + "."
	default:
		c.Ended = "Its last run has no end in the ledger: it still runs, or it was killed, or its disk was full."
	}
	if e.torn > 0 {
		c.Ended += fmt.Sprintf(" Of the runs before, %s ended otherwise: by a kill or a crash.", plainly.Grouped(e.torn))
	}
	c.Key = clean(e.key)
}
