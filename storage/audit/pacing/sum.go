package pacing

import (
	"fmt"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
)

// row takes e into the row of its authority's exchanges, after a pause of required. It says when the pauses of the row
// are too short in sum, though each for itself may be long enough for all that the dates tell.
func (j *Judge) row(h *evidence.Joined, to *Host, required time.Duration) (pauses.Short, bool) {
	e := &h.Exchange
	again := sighting{e.URL, e.Began}
	if (!h.HasRequest || !h.HasAnswer) && again == to.lastSeen { // the other half of an exchange whose records lie far apart
		return pauses.Short{}, false
	}
	to.lastSeen = again
	x := pauses.Exchange{Began: e.Began, Resolution: e.Resolution, Pace: max(required-slack(required), 0)}
	if e.Ended {
		x.Took = max(e.Took-time.Microsecond, 0)
	}
	return to.row.Add(x)
}

// sighting is what is alike in the records of an exchange.
type sighting struct {
	url   string
	began time.Time
}

// tooFastInSum reports pauses that were too short in sum.
func (j *Judge) tooFastInSum(e *evidence.Exchange, s pauses.Short, by string) {
	j.found.Add(e.Finding(finding.Gap,
		fmt.Sprintf("at least %s from the start of the first to the start of the last, for %d delays in a row: %s",
			finding.Round(s.Due), s.Pauses, by),
		fmt.Sprintf("at most %s, since %s", finding.Round(s.Most), finding.Clock(s.Since))))
}

// Whole judges the exchanges of a host as a whole, where their records are in no order.
func (h *Host) Whole(authority string) (f finding.Finding, short bool) {
	s, short := h.row.Whole()
	if !short {
		return f, false
	}
	return finding.Finding{Code: finding.Gap, Authority: authority, Time: s.Since,
		Required: fmt.Sprintf("at least %s for %d delays", finding.Round(s.Due), s.Pauses),
		Observed: fmt.Sprintf("at most %s for all requests to the host, whose records are not in the order of "+
			"their dates", finding.Round(s.Most))}, true
}
