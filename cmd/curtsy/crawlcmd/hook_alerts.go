package crawlcmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/status"
	"curtsy/storage/plainly"
)

// An Alert is something that a person may want to look at.
type alert struct {
	Name    string // of its kind
	Host    string // that it is about; empty for none
	Message string
}

// The kinds of alerts, as docs/guides/deploy.md has them.
const (
	refused     = "refused"     // a host refuses to be crawled, or was retired
	unreachable = "unreachable" // a host fails again and again
	noRobots    = "robots"      // the robots.txt of a host is unavailable
	failing     = "failing"     // more than a quarter of the exchanges fail
	slowDown    = "slow-down"   // more than one in twenty exchanges is answered with 429
	stalled     = "stalled"     // nothing was asked for in half an hour
	disk        = "disk"        // the disk is nearly full
	trapped     = "trap"        // a trap rule has begun to drop URLs
	quarantine  = "quarantine"  // URLs were set aside: the process died with them
)

// The bounds of docs/deploy/alerts.yml.
const (
	span      = 30 * time.Minute // that rates are of
	leastSpan = 5 * time.Minute
	leastOf   = 20  // exchanges that a share is of
	leastDisk = 2e9 // bytes that are free

	again    = 30 * time.Minute // between two of one kind about one host, at least
	mostHour = 20               // alerts in an hour
)

// sample is a crawl at one instant.
type sample struct {
	at                       time.Time
	exchanges, failed, asked int64 // asked: to slow down
}

// alerts says what has begun to be wrong. It is not safe for concurrent use.
type alerts struct {
	samples []sample
	moved   time.Time // when the crawl last did something, or was not to
	last    int64     // exchanges then
	active  map[string]bool
	told    map[string]time.Time
	recent  []time.Time
	looked  bool
}

// Look takes in the state of a crawl with so many bytes free on its disk, of which zero is not known, and returns what is to be told: each condition once,
// and again only after it ended. What was so before the first look, but for the disk, is of an earlier run.
func (x *alerts) Look(now time.Time, s status.Status, free int64) (tell []alert) {
	first := !x.looked
	if x.looked = true; first {
		x.active, x.told = map[string]bool{}, map[string]time.Time{}
	}
	is := map[string]bool{}
	for _, a := range x.conditions(now, s, free) {
		key := a.Name + " " + a.Host
		if a.Name == trapped {
			key += a.Message
		}
		is[key] = true
		if x.active[key] || first && a.Name != disk {
			continue
		}
		if last, ok := x.told[key]; ok && now.Sub(last) < again || !x.mayTell(now) {
			delete(is, key) // later, if it lasts
			continue
		}
		x.told[key] = now
		tell = append(tell, a)
	}
	x.active = is
	maps.DeleteFunc(x.told, func(_ string, at time.Time) bool { return now.Sub(at) > again })
	return tell
}

// mayTell takes one of the alerts of an hour.
func (x *alerts) mayTell(now time.Time) bool {
	x.recent = slices.DeleteFunc(x.recent, func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	if len(x.recent) >= mostHour {
		return false
	}
	x.recent = append(x.recent, now)
	return true
}

// conditions are all that is wrong.
func (x *alerts) conditions(now time.Time, s status.Status, free int64) (all []alert) {
	add := func(name, host, format string, args ...any) {
		all = append(all, alert{name, host, fmt.Sprintf(format, args...)})
	}
	for _, r := range s.Resting {
		switch why := plainly.Reason(r.Reason); {
		case strings.HasPrefix(r.Reason, "robots"):
			add(noRobots, r.Host, "The robots.txt of %s is unavailable: %s.", r.Host, why)
		case r.Condition == "refused" || r.Condition == "retired" && strings.HasPrefix(r.Reason, "status 4"):
			add(refused, r.Host, "Given up: %s (%s).", r.Host, why)
		case r.Condition == "retired" && s.Failures[r.Reason] > 0, r.Condition == "parked" && s.Failures[r.Reason] > 0:
			add(unreachable, r.Host, "No usable response from %s: %s.", r.Host, why)
		}
	}
	x.rates(now, s, add)
	if left := s.Queued + s.Deferred; s.State != "running" || left == 0 || s.Exchanges != x.last || x.moved.IsZero() {
		x.moved, x.last = now, s.Exchanges
	} else if now.Sub(x.moved) >= span {
		add(stalled, "", "The crawl has made no request for half an hour, with %s left.", plainly.Count(left, "URL"))
	}
	if free > 0 && free < leastDisk {
		add(disk, "", "The disk of the crawl is nearly full: %s are free.", plainly.ExactSize(free))
	}
	for reason := range s.Reasons["dropped"] {
		if strings.HasPrefix(reason, "trap:") {
			add(trapped, "", "URLs are dropped by the rule %s: a part of a site seems to have no end.", reason)
		}
	}
	if s.Quarantined > 0 {
		add(quarantine, "", "URLs are set aside, since the process died with them.")
	}
	return all
}

// rates are what of the exchanges of late failed, or was answered with 429.
func (x *alerts) rates(now time.Time, s status.Status, add func(name, host, format string, args ...any)) {
	is := sample{at: now, exchanges: s.Exchanges, asked: s.Failures["429"]}
	for _, n := range s.Failures {
		is.failed += n
	}
	x.samples = append(x.samples, is)
	x.samples = slices.DeleteFunc(x.samples, func(o sample) bool { return now.Sub(o.at) > span })
	was := x.samples[0]
	if made := is.exchanges - was.exchanges; now.Sub(was.at) >= leastSpan && made >= leastOf {
		if failed := is.failed - was.failed; failed*4 > made {
			add(failing, "", "More than a quarter of the requests fail: %d of %d.", failed, made)
		}
		if asked := is.asked - was.asked; asked*20 > made {
			add(slowDown, "", "More than one in twenty requests is answered with 429 Too Many Requests: %d of %d.", asked, made)
		}
	}
}

// lookEvery is the time between two looks.
const lookEvery = 10 * time.Second

// follow tells of what goes wrong with a crawl until ctx ends. tell may take its time: it is called for one alert after the
// other.
func follow(ctx context.Context, look func(context.Context) (status.Status, error), free func() int64, tell func(alert, status.Status)) {
	var x alerts
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for {
		if s, err := look(ctx); err == nil {
			for _, a := range x.Look(time.Now(), s, free()) {
				if ctx.Err() != nil {
					return
				}
				tell(a, s)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
		}
	}
}
