package pacing

import (
	"fmt"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// What a crawl declares beside pauses is held against it: a window in which alone anybody is asked, and for some hosts hours of
// the day, and requests in a day.
const (
	// lateSend is how long after the hours were asked about a request may be sent: names are looked up, and connections
	// made, in between.
	lateSend = 2 * time.Minute
	// aDay is 24 hours but for that.
	aDay = day - lateSend
	// lateWindow is the same after the window was asked about, which is done when the request is about to go out: a busy
	// machine may take its time.
	lateWindow = 5 * time.Second
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
	if in.Outside(e.Began) && in.Outside(e.Began.Add(-lateWindow)) && !j.jumped(e, in.Outside) {
		j.found.Add(e.Finding(finding.Window, "no request outside the window that the archive declares (window, docs/guides/steer.md)",
			"it began at "+e.Began.UTC().Format("Mon 2006-01-02 15:04:05")+" UTC"))
	}
	if h := in.Hours(e.Authority, e.Began); h != nil && in.Hours(e.Authority, e.Began.Add(-lateSend)) != nil && !j.jumped(e, func(t time.Time) bool { return in.Hours(e.Authority, t) != nil }) {
		j.found.Add(e.Finding(finding.Hours, fmt.Sprintf("the hours that the archive declares for %s (host-hours, docs/reference/config.md)", finding.Short(h.Hosts)),
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
		j.found.Add(e.Finding(finding.PerDay, fmt.Sprintf("%d requests to the host within 24 hours, as the archive declares (host-per-day, docs/reference/config.md)", most),
			fmt.Sprintf("it is request %d of them", n)))
	}
}

// jumped reports whether the clock jumped ahead, as the crawl says, and what was closed was open by what it was before: a
// request that was about to be sent when the computer slept.
func (j *Judge) jumped(e *evidence.Exchange, closed func(time.Time) bool) bool {
	return e.Line != nil && e.Line.Ahead > 0 && !closed(e.Began.Add(-e.Line.Ahead))
}

// forgot notes that a kill may have made the crawl forget its last requests to the host.
func (h *Host) forgot() { h.dailyLost += evidence.AtKill }
