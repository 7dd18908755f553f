package status

import (
	"context"
	"net/netip"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

// HostAnswer is what a dry run learned of one host.
type HostAnswer struct {
	Host   string        `json:"host"`
	Robots string        `json:"robots"` // "rules", "none: everything is allowed", or why it cannot be had
	Status int           `json:"status,omitempty"`
	Pace   time.Duration `json:"-"`
	PaceS  float64       `json:"pace_s"`
	Seeds  int64         `json:"seeds"`

	Addr netip.Prefix `json:"-"` // where it is, if it shares its address's pace
}

// SeedsTake is how long it takes at least to fetch the seeds of a dry run, and which address decides that by its pace, of
// which every lies between two starts; empty when a host does.
func SeedsTake(answers []HostAnswer, every time.Duration) (d time.Duration, address string) {
	all := newSharing(every)
	for _, a := range answers {
		d = max(d, time.Duration(a.Seeds)*a.Pace)
		all.add(a.Addr, a.Seeds, a.Pace)
	}
	if addr, need := all.longest(); need > d {
		return need, all.word(addr)
	}
	return d, ""
}

// Answers lists the hosts of a dry run with what their robots.txt said.
func Answers(ctx context.Context, f frontier.Reader, pacing func(frontier.Host, *host.State) Pacing) ([]HostAnswer, error) {
	var out []HostAnswer
	err := EachHost(ctx, f, 0, func(h frontier.Host) bool {
		seeds := h.Queued + h.Deferred
		if seeds == 0 {
			return true // met on the way of a redirect only
		}
		n, err := host.Read(h.Memory)
		p := pacing(h, &n)
		a := HostAnswer{Host: h.Authority.Origin(), Pace: p.Pace, PaceS: p.Pace.Seconds(), Seeds: seeds}
		if err == nil && !p.Own {
			a.Addr = n.Spot
		}
		var s robots.State
		if err := s.UnmarshalBinary(h.Robots); len(h.Robots) > 0 && err != nil {
			a.Robots = err.Error()
		} else {
			a.Robots, a.Status = robotsAnswer(s), s.Status()
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
		return "cannot be had, so nothing is allowed: " + plainly.Reason(host.WhyUnreachable(s))
	}
	if _, ok := s.Body(); ok {
		return "rules"
	}
	return "not asked for"
}
