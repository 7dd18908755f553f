package audit

import (
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
)

// Within a run the dates of a crawl of ours never go back (crawler/dates.go); between two runs its clock may have
// been set. That shows when a run began, as its warcinfo says, before the end of what stands before it. By how much
// the clock was set nobody can tell, for how long nothing ran is not known. So of each host the pause before its
// first exchange behind the step is not known, nor whether a rest was over; robots.txt is as old, at least, as the
// step. All that is held against the new clock.

// clock is the crawling computer's, as the dates of an archive show it.
type clock struct {
	run         int       // of runs of ours, as their files tell
	runBegan    time.Time // as the last warcinfo says; zero when it does not
	begun, last time.Time // of the file that was just begun, and the latest end since the clock was set
	steps       int       // how often it was set back
	stepAt      time.Time // the first date behind the last time
}

// boundary notes that a file goes on after a warcinfo record of that date.
func (c *clock) boundary(in *evidence.Info) {
	if !in.Ours || !in.RunBegan.IsZero() && in.RunBegan.Equal(c.runBegan) { // it goes on with another file
		return
	}
	c.run++
	if c.runBegan = in.RunBegan; !in.RunBegan.IsZero() {
		c.begun = in.RunBegan
	} else {
		c.begun = in.Date
	}
}

// isBack reports whether the clock was set back before e, the first exchange behind a boundary, and when the run began.
func (c *clock) isBack(e *evidence.Exchange) (begun time.Time, back bool) {
	begun, c.begun = c.begun, time.Time{}
	if begun.IsZero() || e.Began.IsZero() || !begun.Add(pauses.Slack(0)).Before(c.last) {
		return begun, false
	}
	// Without its beginning there is the file's date alone: an exchange may have ended while it was begun.
	return begun, !c.runBegan.IsZero() || e.Began.Before(c.last)
}

// setBack sets the clock back before e, and names it.
func (c *clock) setBack(e *evidence.Exchange, begun time.Time) finding.Finding {
	by := c.last.Sub(begun)
	e.Stepped = true
	c.steps, c.stepAt, c.last = c.steps+1, begun, time.Time{}
	f := e.Finding(finding.ClockStep, "files in the order of their dates",
		"the clock was set back, by "+finding.Round(by)+" at least, before "+e.File+
			": the first delay of each host after it is unprovable, and so is the end of its back-offs")
	f.Authority, f.URL, f.Note = "", "", true
	return f
}
