package crawler

import (
	"context"
	"time"

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
}

// Answers lists the hosts of a dry run with what their robots.txt said.
func (c *Crawl) Answers(ctx context.Context) ([]HostAnswer, error) {
	var out []HostAnswer
	err := eachHost(ctx, c.cfg.Frontier, 0, func(h frontier.Host) bool {
		var s robots.State
		a := HostAnswer{Host: origin(h.Authority), Pace: max(h.Pace, c.cfg.floor(h.Authority)), Seeds: h.Queued + h.Deferred}
		if a.Seeds == 0 {
			return true // met on the way of a redirect only
		}
		if err := s.UnmarshalBinary(h.Robots); len(h.Robots) > 0 && err != nil {
			a.Robots = err.Error()
		} else {
			a.Robots, a.Status = robotsAnswer(s), s.Status()
		}
		a.PaceS = a.Pace.Seconds()
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
