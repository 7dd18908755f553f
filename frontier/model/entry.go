package model

import (
	"context"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Entry implements frontier.Reader.
func (m *Model) Entry(ctx context.Context, u canon.URL) (e frontier.Entry, ok bool, err error) {
	err = m.read(ctx, func(now time.Time) {
		if h := m.dealer.hosts[u.Authority()]; h != nil {
			e, ok = h.entry(frontier.Print(secret, u), now)
		}
	})
	return e, ok, err
}

// entry returns the URL of h that became a task, with its state.
func (h *host) entry(p frontier.Fingerprint, now time.Time) (e frontier.Entry, ok bool) {
	if i := slices.IndexFunc(h.closed, func(c closed) bool { return c.task.Print == p }); i >= 0 {
		c := h.closed[i]
		return frontier.Entry{Candidate: c.task.first, Print: p, Outcome: c.outcome, Reason: c.reason}, true
	}
	t := h.find(p)
	if t == nil {
		return e, false
	}
	e = frontier.Entry{Candidate: t.first, Print: p}
	if t.drop {
		e.Outcome, e.Reason = frontier.Dropped, frontier.ReasonOperator
		return e, true
	}
	e.Reason, e.Attempts, e.Deferred, e.Stops = t.Reason, t.Attempts, t.deferred, t.Stops
	if len(t.counts) > 0 { // one: this is no follower
		e.Alone = t.counts[0].alone
	}
	if t.deferred {
		e.Wait = max(t.due.Sub(now), 0)
	}
	if t.Replaced {
		e.Replaced = t.URL
	}
	return e, true
}

// Quarantined implements frontier.Engine.
func (m *Model) Quarantined(ctx context.Context) (all []frontier.Candidate, err error) {
	err = m.read(ctx, func(time.Time) { all = slices.Clone(m.dealer.quarantined) })
	return all, err
}

// Snapshot implements frontier.Operator: there is no file.
func (m *Model) Snapshot(context.Context, string) error { return frontier.ErrNoSnapshot }
