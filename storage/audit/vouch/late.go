package vouch

import (
	"fmt"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// longest is by how much exchanges without a checkpoint may be apart: one is due every ledger.Interval while lines come, and
// the map of a large crawl takes a while to write.
const longest = ledger.Interval + ledger.Interval/2

// maxLate bounds the findings.
const maxLate = 100

// uncovered follows the exchanges of a run that no checkpoint covers. A kill leaves those of ledger.Interval at most, and
// none in a run without a checkpoint, for a run begins with one. Times are read without the jumps of the clock that the
// lines tell of: timers do not run while a computer sleeps. What a later checkpoint of the same run covers was not late:
// the process may have been stopped in between.
type uncovered struct {
	has   bool      // the run has a checkpoint
	over  bool      // it has its stop
	index int64     // of the first that is not covered
	first time.Time // when it ended; zero for none
	last  time.Time // when the last one did
	wrong []finding.Finding
}

// line takes a decision.
func (u *uncovered) line(l *storage.Line, index int64) {
	if l.Began.IsZero() {
		return
	}
	if u.over {
		u.over = false // the first is enough
		u.say("the mark of a run before its requests (ledger reference)", fmt.Sprintf("the request in entry %d is after the stop "+
			"of its run", index))
	}
	at := l.Began.Add(l.Took - l.Ahead)
	if u.first.IsZero() {
		u.index, u.first, u.last = index, at, at
	}
	if at.Before(u.first) {
		u.first = at
	}
	if at.After(u.last) {
		u.last = at
	}
}

// covered takes a checkpoint of all lines so far.
func (u *uncovered) covered() {
	u.has, u.first = true, time.Time{}
}

// end takes the end of a run.
func (u *uncovered) end() {
	apart := u.last.Sub(u.first)
	switch {
	case u.first.IsZero():
	case !u.has:
		u.say("a checkpoint at the start of a run, before its first request (ledger reference)",
			fmt.Sprintf("the run of the request in entry %d has none", u.index))
	case apart > longest:
		u.say(fmt.Sprintf("a checkpoint every %.0f minutes while lines come: a kill leaves no more without one (ledger reference)",
			ledger.Interval.Minutes()), fmt.Sprintf("from entry %d on, %s of requests have none", u.index,
			finding.Round(apart)))
	}
	*u = uncovered{wrong: u.wrong}
}

func (u *uncovered) say(required, observed string) {
	if len(u.wrong) < maxLate {
		u.wrong = append(u.wrong, finding.Finding{Code: finding.LedgerRoot, Time: u.first, Required: required, Observed: observed})
	}
}
