package status

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// One is one host in full.
type One struct {
	Known bool `json:"known"`
	Row
	Queued   int64            `json:"queued"`
	Deferred int64            `json:"deferred"`
	InFlight int64            `json:"in_flight"`
	Outcomes map[string]int64 `json:"outcomes"`
	Robots   string           `json:"robots,omitempty"` // its robots.txt, at most MaxRobotsText octets of it
	Cut      bool             `json:"robots_cut,omitempty"`
}

// MaxRobotsText is how much of a robots.txt is shown.
const MaxRobotsText = 128 << 10

// One returns what there is to say of one host.
func (l *Live) One(ctx context.Context, a canon.Authority) (One, error) {
	h, ok, err := l.Host(ctx, a)
	if err != nil || !ok {
		return One{Row: Row{Host: a.Origin()}}, err
	}
	o := One{
		Known: true, Row: l.settings.Row(h, time.Now()), Queued: h.Queued, Deferred: h.Deferred, InFlight: h.InFlight,
		Outcomes: map[string]int64{},
	}
	for outcome, n := range h.Outcomes {
		if n > 0 {
			o.Outcomes[frontier.Outcome(outcome).String()] = n
		}
	}
	if len(h.Robots) == 0 {
		return o, nil
	}
	var s robots.State
	if err := s.UnmarshalBinary(h.Robots); err != nil {
		return o, fmt.Errorf("status: %s: robots state: %w", a, err)
	}
	digest, has := s.Body()
	if !has || digest == sha256.Sum256(nil) {
		return o, nil
	}
	body, err := l.frontier.Blob(ctx, digest)
	if err != nil {
		return o, fmt.Errorf("status: %s: robots.txt: %w", a, err)
	}
	o.Cut = len(body) > MaxRobotsText
	o.Robots = string(body[:min(len(body), MaxRobotsText)])
	return o, nil
}
