package audit

import (
	"encoding/hex"
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
	"curtsy/storage/audit/pauses"
)

// host is what is known of an authority while its exchanges go by: what each judge keeps of it, and what was counted.
type host struct {
	Host

	pace   pacing.Host
	policy policyHost
	skew   pauses.Sample // by which the dates of answers differ from the archive's

	// The operator's own (politeness rule 18).
	proved time.Time // when its proof was last archived
	young  time.Time // and when one was before the clock was set back, by which it may be young again
	since  int       // exchanges since the clock was set back, at most evidence.AtKill+1

	run   int // of its last exchange
	steps int // of the clock, that are reckoned with
}

// cross notes that the archive goes on in another file. killed says that another run of ours begins there, so that
// the one before may have been killed.
func (h *host) cross(killed bool) {
	h.pace.Cross(killed)
	if killed {
		h.policy.Killed()
	}
}

// setBack makes what is known of h hold by a clock that was set back.
func (h *host) setBack(to time.Time) {
	if h.pace.Met() {
		h.cross(true) // a step comes between two runs
	}
	h.pace.SetBack()
	h.policy.SetBack(to)
	if h.proved.After(to) {
		if h.young.IsZero() || h.since > evidence.AtKill {
			h.young = h.proved
		}
		h.proved, h.since = to, 0
	}
}

// show returns h as the result shows it.
func (h *host) show() *Host {
	p, last, shown := &h.pace, &h.policy.policy, &h.Host
	if last.kind == ruled && last.text.Known {
		shown.RobotsSHA256 = hex.EncodeToString(last.text.SHA256[:])
	}
	shown.Authority, shown.Policy, shown.RobotsTime = finding.Short(h.Authority), h.policy.Kind(), last.since
	shown.Required, shown.RequiredBy, shown.Lowest = p.Required.Seconds(), p.RequiredBy, p.Lowest.Seconds()
	shown.Gaps, shown.MinGap, shown.MedianGap = p.Gaps.N(), p.Gaps.Least().Seconds(), p.Gaps.Median().Seconds()
	shown.StartToStart = p.StartToStart
	shown.Dates, shown.Skew = h.skew.N(), h.skew.Median().Seconds()
	return shown
}

// proofLife is how long a proof holds, and the time that may pass between that and the first byte of a request.
const proofLife = 24*time.Hour + time.Minute

// isOwn reports whether e is judged as an exchange with a host of the operator's own: loopback, unless the archive says
// that it is treated as foreign, or a host whose proof was archived within a day.
func (h *host) isOwn(e *evidence.Exchange, m evidence.Measure) bool {
	if m.Info != nil && m.Info.OwnSites == "none" {
		return false
	}
	if evidence.Loopback(e.Authority) {
		return true
	}
	holds := func(proved time.Time) bool {
		return m.Ours() && !proved.IsZero() && !e.Began.After(proved.Add(proofLife)) && !e.Began.Before(proved)
	}
	if !holds(h.proved) && h.since <= evidence.AtKill && holds(h.young) { // the clock went forward again, and a kill took what was asked meanwhile
		h.proved, h.young = h.young, time.Time{}
	}
	return holds(h.proved)
}

// owned notes a proof. Whether the value in it is the operator's only the operator's key can tell.
func (h *host) owned(e *evidence.Exchange, m evidence.Measure) {
	_, authority, _ := strings.Cut(e.Authority, "https://")
	if e.Target != evidence.OwnerPath || !m.Ours() || authority == "" || strings.Contains(authority, ":") {
		return
	}
	h.proved = time.Time{}
	if e.Status == 200 && e.OwnerProof {
		h.proved = e.End()
	}
}

// dated notes by how much the date of an answer (RFC 9110 6.6.1) differs from the archive's. The field has whole
// seconds, and the answer was made some time between the request and its own first byte: the middle of both is taken,
// so that one of them says little and the median of many says it to about a tenth of a second. An answer with an Age
// was made for somebody else, some time before.
//
// It proves nothing: the server's clock may be wrong, or its dates made up. But dates of a host that were all shifted
// alike in the archive show here, and nowhere else.
func (h *host) dated(e *evidence.Exchange) {
	at, ok := evidence.Date(strings.TrimSpace(e.Answer.Date.Value))
	if ok && e.Answer.Age.Value == "" && e.Status != 0 && (at.Sub(e.Began)).Abs() < mostSkew {
		made := e.Began
		if l := e.Line; l != nil {
			made = made.Add(min(l.FirstByte, e.Took) / 2)
		}
		h.skew.Add(at.Add(time.Second / 2).Sub(made))
	}
}

// mostSkew is more than any clock is off by that is still a clock. A date that is further off was chosen by somebody.
const mostSkew = 100 * 365 * 24 * time.Hour

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
