package reconcile

import (
	"slices"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// maxUnsent bounds the attempts that are remembered. Beyond it every pause is explained.
const maxUnsent = 1 << 20

// unsent are the attempts that reached no server, by authority: when each line says that it ended, in Unix
// microseconds. They have no record, and end a pause all the same.
type unsent struct {
	at   map[string][]int64
	n    int
	full bool
}

func (u *unsent) add(url string, t time.Time) {
	if u.full = u.full || u.n == maxUnsent; u.full {
		return
	}
	if u.at == nil {
		u.at = map[string][]int64{}
	}
	name := evidence.AuthorityOf(url)
	u.at[name] = append(u.at[name], t.UnixMicro())
	u.n++
}

// between reports whether there was one with the authority between two instants, or there may have been. A line is
// written a moment after what it tells of.
func (u *unsent) between(authority string, from, to time.Time) bool {
	const moment = time.Second
	first, last := from.Add(-moment).UnixMicro(), to.Add(moment).UnixMicro()
	return u.full || slices.ContainsFunc(u.at[authority], func(t int64) bool { return first <= t && t <= last })
}

// hides reports an exchange before which another one must have been, of which neither archive nor ledger holds
// anything.
func (l *Ledger) hides(e *evidence.Exchange, found finding.Report) {
	if e.Since.IsZero() || l.unsent.between(e.Authority, e.Since, e.Began) || l.explains(e, e.Began.Add(-e.Line.Gap)) {
		return
	}
	f := e.Finding(finding.GapTold, "a record, or at least a line, of each request: the crawl recorded that another "+
		"one ended "+finding.Round(e.Line.Gap)+" before this",
		"the last one that archive and ledger hold ended at "+finding.Clock(e.Since)+", "+
			finding.Round(e.Began.Sub(e.Since))+" before this")
	f.Place = e.LineAt
	found(f)
}
