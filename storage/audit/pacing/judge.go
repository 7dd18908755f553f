package pacing

import (
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

const day = 24 * time.Hour

// Judge holds exchanges to the pauses that were due before them.
type Judge struct {
	Gaps int64 // pauses measured

	m     evidence.Measure
	found finding.List
	addrs map[string]*address
	kept  int // starts, of all hosts
}

// NewJudge returns a Judge that has met no exchange.
func NewJudge() *Judge { return &Judge{addrs: map[string]*address{}} }

// Exchange judges the pause before an exchange with a host, whose robots.txt asks for site.
func (j *Judge) Exchange(x *evidence.Joined, to *Host, m evidence.Measure, site Site) finding.List {
	j.m = m
	to.taken(x, site.Taken)
	j.timing(x, to, site)
	j.declared(x, to)
	return j.found.Take()
}

// After makes an exchange, which was judged, what is known of its host.
func (j *Judge) After(x *evidence.Joined, to *Host, m evidence.Measure) finding.List {
	j.m = m
	j.after(x, to)
	return j.found.Take()
}

// Flush judges the starts at addresses that were kept back until others were in their order.
func (j *Judge) Flush() finding.List {
	j.flush()
	return j.found.Take()
}

// SetBack notes that the clock was set back.
func (j *Judge) SetBack() finding.List {
	all := j.Flush()
	clear(j.addrs)
	return all
}
