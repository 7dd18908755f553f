package audit

import (
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
)

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
func (h *host) owned(x *evidence.Joined, m evidence.Measure) {
	e := &x.Exchange
	_, authority, _ := strings.Cut(e.Authority, "https://")
	if e.Target != evidence.OwnerPath || !m.Ours() || authority == "" || strings.Contains(authority, ":") {
		return
	}
	h.proved = time.Time{}
	if e.Status == 200 && x.OwnerProof {
		h.proved = e.End()
	}
}
