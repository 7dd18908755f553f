package audit

import (
	"strings"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// followed judges an exchange that follows the redirect of a robots.txt. RFC 9309 2.3.1.2 lets a crawler follow one
// to another authority, whatever that forbids, as this crawler does: no violation. But whoever has a host of his own
// can have any page so, and what the rules at hand forbid is named.
func (j *judge) followed(h *evidence.Joined, to *policyHost) error {
	e, p := &h.Exchange, &to.policy
	if path, _, _ := strings.Cut(e.Target, "?"); path == evidence.RobotsPath {
		return nil
	}
	const why = "a robots.txt redirects here, "
	switch p.kind {
	case unasked:
		if !j.m.Ours() && j.redirects.fromElsewhere(e) {
			j.found.Doubt(e.Authority, finding.RobotsMissing, why+"and this host's own was not requested", 0, 0)
		}
		return nil
	case unreachable:
		if j.redirects.fromElsewhere(e) {
			j.found.Doubt(e.Authority, finding.RobotsUnreachable, why+"and this host's own is unavailable", 0, 0)
		}
		return nil
	}
	vs, err := j.pageVerdicts(to, e.Target, e.Agent)
	if err != nil {
		return err
	}
	for _, v := range vs {
		switch {
		case v.Allowed:
			continue
		case j.m.Ours() || !j.redirects.fromElsewhere(e) || e.Began.After(p.expires): // a site's own redirect, or rules that no longer hold
			j.found.Doubt(e.Authority, finding.Disallowed, why+"which the known rules forbid", 0, 0)
		default:
			f := e.Finding(finding.Disallowed, j.forbidden(to, v),
				"requested, by a redirect of another host's robots.txt, which RFC 9309 2.3.1.2 allows")
			f.Note = true
			j.found.Add(f)
		}
		return nil
	}
	return nil
}
