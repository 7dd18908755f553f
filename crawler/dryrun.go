package crawler

import (
	"context"
	"net/netip"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

// reasonDryRun is why a host is left after its robots.txt in a dry run.
const reasonDryRun = "dry run"

// HostAnswer is what a dry run learned of one host.
type HostAnswer struct {
	Host   string        `json:"host"`
	Robots string        `json:"robots"` // "rules", "none: everything is allowed", or why it cannot be had
	Status int           `json:"status,omitempty"`
	Pace   time.Duration `json:"-"`
	PaceS  float64       `json:"pace_s"`
	Seeds  int64         `json:"seeds"`

	spot netip.Prefix // where it is, if it shares its address's pace
}

// SeedsTake is how long it takes at least to fetch the seeds of a dry run, and which address decides that by its pace, of
// which every lies between two starts; empty when a host does.
func SeedsTake(answers []HostAnswer, every time.Duration) (d time.Duration, address string) {
	all := sharing{every: every, at: map[netip.Prefix]*sharers{}}
	for _, a := range answers {
		d = max(d, time.Duration(a.Seeds)*a.Pace)
		all.add(a.spot, a.Seeds, a.Pace)
	}
	if spot, need := all.longest(); need > d {
		return need, all.word(spot)
	}
	return d, ""
}

// Answers lists the hosts of a dry run with what their robots.txt said.
func (c *Crawl) Answers(ctx context.Context) ([]HostAnswer, error) {
	var out []HostAnswer
	err := eachHost(ctx, c.cfg.Frontier, 0, func(h frontier.Host) bool {
		var s robots.State
		a := HostAnswer{Host: h.Authority.Origin(), Pace: max(h.Pace, c.cfg.floor(h.Authority)), Seeds: h.Queued + h.Deferred}
		if a.Seeds == 0 {
			return true // met on the way of a redirect only
		}
		if err := s.UnmarshalBinary(h.Robots); len(h.Robots) > 0 && err != nil {
			a.Robots = err.Error()
		} else {
			a.Robots, a.Status = robotsAnswer(s), s.Status()
		}
		a.PaceS = a.Pace.Seconds()
		if n, err := host.Read(h.Memory); err == nil && !c.cfg.own(h.Authority) {
			a.spot = n.Spot
		}
		out = append(out, a)
		return true
	})
	return out, err
}

// robotsAnswer says in words what a robots state means.
func robotsAnswer(s robots.State) string {
	if v, ok := s.Verdict(); ok {
		if v.Allowed {
			return "none: everything is allowed"
		}
		return "cannot be had, so nothing is allowed: " + plainly.Reason(whyUnreachable(s))
	}
	if _, ok := s.Body(); ok {
		return "rules"
	}
	return "not asked for"
}
