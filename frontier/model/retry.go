package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// retried is the event of a Retry.
type retried struct {
	frontier.Retrial
	leased map[canon.Authority]bool // at that time
}

// retrial makes an event of a Retry.
func (d *dealer) retrial(now time.Time, r frontier.Retrial) event {
	e := &retried{Retrial: r, leased: map[canon.Authority]bool{}}
	for a := range d.leases {
		e.leased[a] = true
	}
	return event{at: now, retried: e}
}

// counted returns what apply, a Retry, has done: fewer URLs have the outcome, fewer hosts take no part.
func (d *dealer) counted(r frontier.Retrial, apply func()) frontier.Retried {
	urls, shut := d.left(r.Outcome)
	apply()
	nowURLs, nowShut := d.left(r.Outcome)
	return frontier.Retried{URLs: urls - nowURLs, Hosts: shut - nowShut}
}

// left returns how many URLs ended with o, and how many hosts take no part.
func (s *state) left(o frontier.Outcome) (urls, shut int64) {
	for _, h := range s.order {
		urls += h.outcomes[o]
		if !h.claimable() {
			shut++
		}
	}
	return urls, shut
}

// retry opens URLs and hosts.
func (s *state) retry(r *retried) {
	for _, h := range s.order {
		if !r.Authority.IsZero() && h.authority != r.Authority {
			continue
		}
		touched := s.reopen(h, r)
		if r.leased[h.authority] {
			continue
		}
		if r.Hosts && !h.claimable() {
			h.update.Condition, h.update.Reason = frontier.Open, ""
			touched = true
		}
		if r.Robots && touched {
			h.update.Robots = nil
		}
	}
}

// reopen makes the tasks of h that r is about pending, at their old places, and reports whether there are any.
func (s *state) reopen(h *host, r *retried) bool {
	before, o := len(h.closed), r.Outcome
	h.closed = slices.DeleteFunc(h.closed, func(c closed) bool {
		if c.outcome != o || r.Reason != "" && c.reason != r.Reason {
			return false
		}
		h.outcomes[o]--
		if c.reason != "" {
			s.reasons[o][c.reason]--
			if s.reasons[o][c.reason] == 0 {
				delete(s.reasons[o], c.reason)
			}
			if len(s.reasons[o]) == 0 {
				delete(s.reasons, o)
			}
		}
		t := newTask(c.task.first, c.task.number)
		if o == frontier.Held {
			t.Reason = frontier.ReasonReleased
		}
		h.pending = append(h.pending, t)
		return true
	})
	slices.SortFunc(h.pending, func(a, b *task) int { return int(a.number - b.number) })
	return len(h.closed) < before
}

// Retry implements frontier.Frontier.
func (m *Model) Retry(ctx context.Context, r frontier.Retrial) (n frontier.Retried, err error) {
	if err := r.Check(); err != nil {
		return n, fmt.Errorf("frontier/model: retry: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return n, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return n, err
	}
	now := time.Now()
	m.expire(now)
	n = m.dealer.counted(r, func() { m.record(m.dealer.retrial(now, r)) })
	return n, m.sync(ctx)
}
