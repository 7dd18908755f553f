package audit

import (
	"strconv"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// alone judges what a URL gave where the exchange is not in the files. That robots.txt forbids it is a violation: the
// policyArchive holds what may not be asked for. The rest cannot be proved, for it may have been had in another way.
func (j *judge) alone(h *evidence.Joined, to *policyHost) error {
	e := &h.Exchange
	kind := "a " + finding.Short(h.Alone) + " record"
	if h.Alone == "response" {
		kind = "a response record that is not HTTP"
	}
	if e.Asked().IsRobots() {
		j.found.Doubt(e.Authority, finding.RobotsMissing,
			"robots.txt is kept in "+kind+", which does not show how it was fetched", 0, 0)
		return nil
	}
	vs, err := j.pageVerdicts(to, e.Target, to.Asker)
	if err != nil {
		return err
	}
	for _, v := range vs {
		switch {
		case v.Allowed:
		case h.Alone == "conversion" && to.before.Known: // of which robots.txt's time nobody says
			j.found.Doubt(e.Authority, finding.Disallowed,
				"a conversion of what robots.txt forbids, or did at some time, whose original is not in the files", 0,
				0)
			return nil
		default:
			j.found.Add(e.Finding(finding.Disallowed, j.forbidden(to, v), "kept in "+kind+", without request and response"))
			return nil
		}
	}
	j.found.Doubt(e.Authority, finding.Gap, kind+" does not show when and how it was requested", 0, 0)
	return nil
}

// forbidden says in words that v forbids something, and by which line.
func (j *judge) forbidden(to *policyHost, v evidence.Verdict) string {
	p := &to.policy
	return "no request: " + v.String() + " of robots.txt, " + strconv.Quote(j.texts.Line(p.text, v.Line)) +
		" (record " + p.record + ")"
}
