package audit

import (
	"encoding/hex"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
	"curtsy/storage/audit/pauses"
)

// host is what is known of an authority while its exchanges go by: what each judge keeps of it, and what was counted.
type host struct {
	name string

	pace   pacing.Host
	policy policyHost
	skew   pauses.Sample // by which the dates of answers differ from the archive's

	// The operator's own (politeness rule 18).
	proved time.Time // when its proof was last archived
	young  time.Time // and when one was before the clock was set back, by which it may be young again
	since  int       // exchanges since the clock was set back, at most evidence.AtKill+1
	own    bool      // judged as own at some time

	run   int // of its last exchange
	steps int // of the clock, that are reckoned with

	pages, robots, avoided int64
	violations             int64
	unproved               []Unproved
	unprovable             int64
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

// unprove counts something that cannot be proved.
func (h *host) unprove(d finding.Doubt) {
	h.unprovable++
	low, high := max(d.Least, 0).Seconds(), max(d.Most, 0).Seconds()
	for i := range h.unproved {
		if u := &h.unproved[i]; u.What == d.What && u.Why == d.Why {
			u.Count++
			u.Least, u.Most = min(u.Least, low), max(u.Most, high)
			return
		}
	}
	h.unproved = append(h.unproved, Unproved{d.What, d.Why, 1, low, high}) // as many as there are reasons in the code
}

// show returns h as the result shows it.
func (h *host) show() *Host {
	p, last := &h.pace, &h.policy.policy
	digest := ""
	if last.kind == ruled && last.text.Known {
		digest = hex.EncodeToString(last.text.SHA256[:])
	}
	return &Host{
		RobotsSHA256: digest, RobotsTime: last.since,
		Authority: finding.Short(h.name), Own: h.own, Pages: h.pages, Robots: h.robots, Policy: h.policy.Kind(),
		Disallowed: h.avoided, Required: p.Required.Seconds(), RequiredBy: p.RequiredBy, Lowest: p.Lowest.Seconds(),
		Gaps: p.Gaps.N(), MinGap: p.Gaps.Least().Seconds(), MedianGap: p.Gaps.Median().Seconds(),
		StartToStart: p.StartToStart,
		Dates:        h.skew.N(), Skew: h.skew.Median().Seconds(),
		Violations: h.violations, Unprovable: h.unprovable, Why: h.unproved,
	}
}
