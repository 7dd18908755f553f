package crawler

import (
	"context"
	"errors"
	"slices"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/optout"
)

// reasonOptOut is why nothing is asked of what is on an opt-out list.
const reasonOptOut = string(fetch.OptOut)

// leaveOptedOut closes those of the turn's tasks that are on an opt-out list and returns the others. It comes before
// everything else in a turn: a host that opted out is not asked for robots.txt either (politeness rule 16).
func (c *settler) leaveOptedOut(ctx context.Context, v *visit) ([]frontier.Task, error) {
	tasks := v.turn.Tasks
	first := slices.IndexFunc(tasks, func(t frontier.Task) bool { return c.cfg.OptOut.URL(t.URL) != nil })
	if first < 0 {
		return tasks, nil // as nearly always
	}
	left := slices.Clone(tasks[:first])
	for _, task := range tasks[first:] {
		hit := c.cfg.OptOut.URL(task.URL)
		if hit == nil {
			left = append(left, task)
			continue
		}
		if err := c.settle(ctx, v, task, optedOut(hit), v.findings()); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// optedOut is the end of a task that is under an entry.
func optedOut(hit *optout.Hit) decision {
	return decision{kind: storage.DecisionOptOut, reason: reasonOptOut, outcome: frontier.Dropped, entry: hit}
}

// entryOf returns the entry that kept an exchange from being made, or nil.
func entryOf(f *fetch.Failure) *optout.Hit {
	if f == nil || f.Class != fetch.OptOut {
		return nil
	}
	hit, _ := errors.AsType[*optout.Hit](f)
	return hit
}

// notAsked is the exchange that is not made with a URL that opted out, or nil when there is no such entry.
func (c *exchanger) notAsked(u canon.URL) *fetch.Exchange {
	hit := c.cfg.OptOut.URL(u)
	if hit == nil {
		return nil
	}
	now := time.Now()
	return &fetch.Exchange{URL: u, Start: now, End: now, Failure: &fetch.Failure{Class: fetch.OptOut, Err: hit}}
}

// dropAll closes a turn's tasks whose host is at an address that opted out, which shows only once its name is resolved.
// Nothing was asked of anybody, and nothing is learned of the host's policy: its next turn begins anew.
func (c *settler) dropAll(ctx context.Context, v *visit, hit *optout.Hit) error {
	for _, task := range v.turn.Tasks {
		if v.settled(task) {
			continue
		}
		if err := c.settle(ctx, v, task, optedOut(hit), v.findings()); err != nil {
			return err
		}
	}
	return nil
}

// settled reports whether a task is closed already in this turn.
func (v *visit) settled(task frontier.Task) bool {
	for _, d := range v.result.Done {
		if d.Print == task.Print {
			return true
		}
	}
	return false
}
