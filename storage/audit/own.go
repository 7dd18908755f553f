package audit

import (
	"strings"
	"time"

	"curtsy/storage/audit/weburl"
)

// ownerPath is where a host holds the proof that it is the operator's own (docs/politeness.md, rule 18).
const ownerPath = "/.well-known/curtsy-owner.txt"

// own reports whether e is judged as an exchange with a host of the operator's own: loopback, unless the archive says
// that it is treated as foreign, or a host whose proof was archived within a day.
func (a *audit) own(to *host, e *Exchange) bool {
	if a.info != nil && a.info.OwnSites == "none" {
		return false
	}
	if weburl.Loopback(e.Authority) {
		return true
	}
	return a.ours() && !to.proved.IsZero() && !e.Began.After(to.proved.Add(day+grace)) && !e.Began.Before(to.proved)
}

// owned notes a proof. Whether the value in it is the operator's only the operator's key can tell.
func (a *audit) owned(h *half, to *host) {
	e := &h.e
	_, authority, _ := strings.Cut(e.Authority, "https://")
	if e.Target != ownerPath || !a.ours() || authority == "" || strings.Contains(authority, ":") {
		return
	}
	to.proved = time.Time{}
	if e.Status == 200 && h.proof {
		to.proved = e.End()
	}
}

func isProof(body []byte) bool {
	for line := range strings.Lines(string(body[:min(len(body), 4<<10)])) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "curtsy-owner=")
		if ok && len(value) == 64 && strings.Trim(value, "0123456789abcdef") == "" {
			return true
		}
	}
	return false
}
