package audit

import (
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
)

// Within a run the dates of a crawl of ours never go back (crawler/dates.go); between two runs its clock may have been set.
// That shows when a run began, as its warcinfo says, before the end of what stands before it. By how
// much the clock was set nobody can tell, for how long nothing ran is not known. So of each host the pause before its
// first exchange behind the step is not known, nor whether a rest was over; robots.txt is as old, at least, as the step.
// All that is held against the new clock.

// boundary notes that a file goes on after a warcinfo record of that date.
func (a *audit) boundary(in *evidence.Info) {
	if !in.Ours || !in.RunBegan.IsZero() && in.RunBegan.Equal(a.runBegan) { // it goes on with another file
		return
	}
	a.runNo++
	if a.runBegan = in.RunBegan; !in.RunBegan.IsZero() {
		a.begun = in.RunBegan
	} else {
		a.begun = in.Date
	}
}

// stepped looks whether the clock was set back before e, the first exchange behind a boundary.
func (a *audit) stepped(e *evidence.Exchange) {
	begun, last := a.begun, a.last
	if a.begun = (time.Time{}); begun.IsZero() || e.Began.IsZero() || !begun.Add(slack(0)).Before(last) {
		return
	}
	if a.runBegan.IsZero() && !e.Began.Before(last) { // the file's date alone: an exchange may have ended while it was begun
		return
	}
	e.Stepped = true
	a.addresses() // what is kept back
	clear(a.addrs)
	a.steps, a.stepAt, a.last = a.steps+1, begun, time.Time{}
	f := e.Finding(finding.ClockStep, "files in the order of their dates", "the clock was set back, by "+finding.Round(last.Sub(begun))+" at least, before "+e.File+
		": the first pause of each host behind it is unprovable, and whether its rests were over")
	f.Authority, f.URL, f.Note = "", "", true
	a.report(f)
}

// step makes what is known of h hold by a clock that was set back.
func (a *audit) step(h *host) {
	h.steps = a.steps
	at := func(t time.Time) time.Time {
		if t.After(a.stepAt) {
			return a.stepAt
		}
		return t
	}
	if h.met {
		h.cross(true) // a step comes between two runs
	}
	h.lost = h.lost || h.met
	h.met, h.began, h.end, h.ended, h.res = false, time.Time{}, time.Time{}, false, 0
	h.rest, h.restAt, h.backoff, h.spaced, h.emptied = time.Time{}, time.Time{}, time.Time{}, 0, 0
	h.was, h.row = terms{}, pauses.Row{}
	if !h.proved.IsZero() {
		h.proved = at(h.proved)
	}
	if p := &h.policy; p.since.After(a.stepAt) {
		p.expires, p.since = p.expires.Add(a.stepAt.Sub(p.since)), a.stepAt
	}
}

// clocked notes what e tells of the time, behind what was said of a step.
func (a *audit) clocked(e *evidence.Exchange) {
	if end := e.End(); end.After(a.last) {
		a.last = end
	}
}
