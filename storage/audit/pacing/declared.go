package pacing

import (
	"fmt"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/measure"
)

// What a crawl declares for some hosts alone, beside a pause, is held against it: hours of the day, and requests in a day.
const (
	// lateSend is how long after the hours were asked about a request may be sent: names are looked up, and connections
	// made, in between.
	lateSend = 2 * time.Minute
	// aDay is 24 hours but for that.
	aDay = day - lateSend
	// mostDaily bounds the instants that are kept of a host. What declares more is not held to it.
	mostDaily = 5000
)

// declared judges an exchange by the hours, and the requests in a day, that the archive declares for its host.
func (j *Judge) declared(x *evidence.Joined, to *Host) {
	e := &x.Exchange
	if !j.m.Ours() || e.Began.IsZero() {
		return
	}
	in := j.m.Info
	if h := in.Hours(e.Authority, e.Began); h != nil && in.Hours(e.Authority, e.Began.Add(-lateSend)) != nil && !j.jumped(e) {
		j.found.Add(e.Finding(finding.Hours, fmt.Sprintf("the hours that the archive declares for %s (host-hours, docs/config.md)", finding.Short(h.Hosts)),
			"it began at "+e.Began.UTC().Format("15:04:05")+" UTC"))
	}
	most := in.Daily(e.Authority)
	if most == 0 || most > mostDaily || !x.HasRequest {
		to.daily, to.dailyLost = nil, 0
		return
	}
	kept := to.daily[:0]
	for _, t := range to.daily {
		if e.Began.Sub(t) < aDay {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		to.dailyLost = 0
	}
	to.daily = append(kept, e.Began)
	if n := len(to.daily); n > most+to.dailyLost {
		to.daily = to.daily[1:] // each request too many is named once
		j.found.Add(e.Finding(finding.PerDay, fmt.Sprintf("%d requests to the host within 24 hours, as the archive declares (host-per-day, docs/config.md)", most),
			fmt.Sprintf("it is request %d of them", n)))
	}
}

// jumped reports whether the clock jumped ahead, as the crawl says, and the hours were kept by what it was before: a request
// that was about to be sent when the computer slept.
func (j *Judge) jumped(e *evidence.Exchange) bool {
	return e.Line != nil && e.Line.Ahead > 0 && j.m.Info.Hours(e.Authority, e.Began.Add(-e.Line.Ahead)) == nil
}

// forgot notes that a kill may have made the crawl forget its last requests to the host.
func (h *Host) forgot() { h.dailyLost += measure.AtKill }
