package audit

import (
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/weburl"
)

// own reports whether e is judged as an exchange with a host of the operator's own: loopback, unless the archive says
// that it is treated as foreign, or a host whose proof was archived within a day.
func (a *audit) own(to *host, e *evidence.Exchange) bool {
	if a.info != nil && a.info.OwnSites == "none" {
		return false
	}
	if weburl.Loopback(e.Authority) {
		return true
	}
	return a.ours() && !to.proved.IsZero() && !e.Began.After(to.proved.Add(day+grace)) && !e.Began.Before(to.proved)
}

// owned notes a proof. Whether the value in it is the operator's only the operator's key can tell.
func (a *audit) owned(h *evidence.Joined, to *host) {
	e := &h.Exchange
	_, authority, _ := strings.Cut(e.Authority, "https://")
	if e.Target != evidence.OwnerPath || !a.ours() || authority == "" || strings.Contains(authority, ":") {
		return
	}
	to.proved = time.Time{}
	if e.Status == 200 && h.OwnerProof {
		to.proved = e.End()
	}
}
