package audit

import (
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// page checks an exchange for something else than robots.txt against the robots.txt that was valid.
func (j *judge) page(h *evidence.Joined, to *policyHost) error {
	e, p := &h.Exchange, &to.policy
	switch p.kind {
	case unasked:
		why := "the archive has no request for it before that"
		if p.why != "" {
			why = p.why
		}
		j.found.Add(e.Finding(finding.RobotsMissing,
			"robots.txt before anything else of "+e.Authority+" (RFC 9309 2.2, 2.3)", why))
		return nil
	case unreachable:
		j.found.Add(e.Finding(finding.RobotsUnreachable,
			"nothing while robots.txt is unavailable (RFC 9309 2.3.1.4: complete disallow)",
			"requested, after robots.txt: "+p.why+" at "+finding.Clock(p.since)))
		return nil
	case closed:
		j.found.Add(e.Finding(finding.Disallowed,
			"nothing of a site that restricts access to robots.txt (draft-koster-robots-00, 3.1, which the archive "+
				"declares)", "requested, after "+p.why))
		return nil
	case unclear:
		j.found.Doubt(e.Authority, finding.Disallowed, "robots.txt: "+p.why, 0, 0)
		return nil
	}
	if first := to.firstRobots; !j.m.Ours() && !e.Began.IsZero() &&
		e.Began.Add(e.Resolution+2*time.Second).Before(first) {
		j.found.Add(e.Finding(finding.RobotsMissing,
			"robots.txt before anything else of "+e.Authority+" (RFC 9309 2.2, 2.3)",
			"it is dated before the first of the archive, of "+finding.Clock(first)))
	}
	j.fresh(e, to)
	if e.Began.Before(p.since.Add(p.ahead)) {
		p.ahead = 0
	}
	if p.kind != ruled {
		j.Judged++
		return j.claimedVerdict(h, to, nil)
	}
	vs, err := j.pageVerdicts(to, e.Target, e.Agent)
	if err != nil {
		return err
	}
	j.Judged++
	for _, v := range vs {
		if !v.Allowed {
			how := "requested"
			if v.Target != "" {
				how += " as " + e.Target + ", which is " + v.Target + " (RFC 3986 6.2.2.3)"
			}
			j.found.Add(e.Finding(finding.Disallowed, j.forbidden(to, v), how))
			break
		}
	}
	return j.claimedVerdict(h, to, vs)
}

// fresh checks the age of the policy that e was judged by (RFC 9309 2.4).
func (j *judge) fresh(e *evidence.Exchange, to *policyHost) {
	p := &to.policy
	limit, why := p.expires, "by its Cache-Control or Expires, RFC 9111 4.2"
	if p.expires.Sub(p.since) >= day {
		why = "24 h at most, RFC 9309 2.4"
	}
	if j.m.Promises() && !p.used { // what was just learned is used once, however short its life: else every turn would go into it
		limit = p.since.Add(day)
	}
	if e.Began.After(limit.Add(grace)) && !e.Began.IsZero() && !p.forth(e.Began, limit.Add(grace)) {
		j.found.Add(e.Finding(finding.RobotsExpired,
			"a valid robots.txt: that of "+finding.Clock(p.since)+" held until "+finding.Clock(p.expires)+" ("+why+")",
			"requested "+e.Began.Sub(p.since).Round(time.Second).String()+" after it was fetched"))
	}
}

// pageVerdicts are those of a host's rules about what was sent.
func (j *judge) pageVerdicts(to *policyHost, target, agent string) ([]evidence.Verdict, error) {
	if to.policy.kind != ruled {
		return nil, nil
	}
	return j.texts.Served(to.policy.text, target, j.m.Binding(agent))
}

// IsRobots reports whether e asks for robots.txt, or for what one redirected to.
func (j *judge) IsRobots(e *evidence.Exchange) bool {
	p := e.Asked()
	return p.IsRobots() || j.redirects.leadTo(e, p.Key)
}
