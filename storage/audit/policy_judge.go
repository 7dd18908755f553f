package audit

import (
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// judge holds exchanges to the robots.txt files of the archive.
type judge struct {
	Judged int64 // verdicts recomputed

	texts  *evidence.Store
	host   func(authority string) *policyHost
	expect func(*evidence.Joined)

	m     evidence.Measure
	found finding.List

	redirects redirects
}

// newJudge returns a Judge by the texts of an archive. host returns what is known of an authority, whose robots.txt may
// redirect to another's; expect makes the reader of the archive keep what a redirect leads to.
func newJudge(texts *evidence.Store, host func(authority string) *policyHost, expect func(*evidence.Joined)) *judge {
	return &judge{texts: texts, host: host, expect: expect, redirects: redirects{}}
}

// Robots judges an exchange for which IsRobots, and makes what it says of robots.txt known.
func (j *judge) Robots(x *evidence.Joined, to *policyHost, m evidence.Measure) (finding.List, error) {
	j.m = m
	err := j.followed(x, to)
	if err == nil {
		j.robots(x, to)
	}
	return j.found.Take(), err
}

// Page judges an exchange for something else than robots.txt.
func (j *judge) Page(x *evidence.Joined, to *policyHost, m evidence.Measure) (finding.List, error) {
	j.m = m
	err := j.page(x, to)
	to.policy.used = true
	return j.found.Take(), err
}

// Alone judges what a URL gave where the exchange is not in the files.
func (j *judge) Alone(x *evidence.Joined, to *policyHost, m evidence.Measure) (finding.List, error) {
	j.m = m
	err := j.alone(x, to)
	return j.found.Take(), err
}

// Refusal recomputes the verdict of a URL that was not asked for because of robots.txt, as the line in a record says.
func (j *judge) Refusal(l *storage.Line, to *policyHost, p evidence.URL, at finding.Place, m evidence.Measure) (finding.List,
	error) {
	j.m = m
	err := j.refusal(l, to, p, at)
	return j.found.Take(), err
}

// Asks is what the robots.txt of a host asks for between two requests: as Crawl-delay, and as Request-rate.
func (j *judge) Asks(to *policyHost, m evidence.Measure, agent string) (delay, rate time.Duration) {
	if !to.policy.text.Known || to.policy.kind != ruled {
		return 0, 0
	}
	var d, r float64
	for _, token := range m.Tokens(agent) {
		if said, err := j.texts.Pace(to.policy.text, token); err == nil {
			d, r = max(d, said.Delay), max(r, said.Rate)
		}
	}
	const year = 365 * 24 * 3600
	return time.Duration(min(d, year) * float64(time.Second)), time.Duration(min(r, year) * float64(time.Second))
}
