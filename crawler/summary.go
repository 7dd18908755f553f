package crawler

import (
	"cmp"
	"context"
	"errors"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/status"
	"curtsy/frontier"
)

// Summary is how a run ended.
type Summary struct {
	EndedBy string        `json:"ended_by"` // one of the Ended words, or the name of a budget
	Status  status.Status `json:"status"`

	// Incomplete says that something is missing that no budget of the user explains: a seed without a usable answer, or
	// hosts still parked, refused or retired when nothing else was left to do.
	Incomplete bool `json:"incomplete"`
	// SeedsUnanswered counts the seeds without a usable answer, over all runs; Seeds names those of this run.
	SeedsUnanswered int64    `json:"seeds_unanswered"`
	Seeds           []string `json:"seeds,omitempty"`

	// Failed names URLs of this run that failed, with the reason, at most five; Status.Failed counts those of all runs.
	Failed []string `json:"failed_urls,omitempty"`

	// Opens is when the window opens for which the run did not wait; nil for a run that ended otherwise.
	Opens *time.Time `json:"opens,omitempty"`

	// Empty names pages of this run that show nothing without JavaScript, at most five; Status.NotRead counts those of all runs.
	Empty []string `json:"empty_without_javascript,omitempty"`

	Manners Manners `json:"manners"`
}

// How a run ended in which each host that is left has all the pages that MaxPerHost, or MaxPerDomain, lets it have, and one
// in which nothing is left but what MaxPerTag sets aside.
const (
	EndedMaxPerHost   = budget.MaxPerHost
	EndedMaxPerDomain = budget.MaxPerDomain
	EndedMaxPerTag    = budget.MaxPerTag
)

// summary is taken when no worker is left.
func (c *Crawl) summary(ctx context.Context) (Summary, error) {
	var why ended
	errors.As(context.Cause(c.stopper.draining), &why)
	s := Summary{EndedBy: string(why)}
	if err := c.cfg.Frontier.Sync(ctx); err != nil {
		return s, err
	}
	var err error
	if s.Status, err = status.Of(ctx, c.cfg.Frontier); err != nil {
		return s, err
	}
	c.addUncounted(&s.Status)
	if s.EndedBy == EndedWaiting { // then each host with something left is not due
		if s.Status.Resting, err = status.Left(ctx, c.cfg.Frontier); err != nil {
			return s, err
		}
	}
	s.Opens = c.windowGate.Missed()
	s.Status.Elapsed = c.clock.Elapsed().Seconds()
	s.Status.Killed = false // the frontier says it of the run before
	stats, err := c.cfg.Frontier.Stats(ctx)
	if err != nil {
		return s, err
	}
	s.Manners = c.manners(stats)
	s.SeedsUnanswered = stats.Counts[budget.SeedsUnanswered]
	s.Seeds, s.Empty, s.Failed = c.book.Named(), c.linker.empty.named(), c.settler.failed.named()

	if s.EndedBy == EndedWaiting && s.Opens == nil && stats.Retired > 0 {
		if s.EndedBy, err = c.endedByHosts(ctx); err != nil {
			return s, err
		}
	}
	if s.EndedBy == EndedWaiting && s.Status.Queued+s.Status.InFlight+s.Status.Deferred == 0 {
		s.EndedBy, s.Opens = EndedDrained, nil // an operator dropped what was waited for
	}
	if s.EndedBy == EndedDrained && c.cfg.terms().MaxPerTag > 0 && c.quotas.held.Load() {
		s.EndedBy = EndedMaxPerTag
	}
	s.Incomplete = s.SeedsUnanswered > 0 || s.EndedBy == EndedWaiting
	return s, nil
}

// endedByHosts is how a run ended that waits for hosts alone: by a budget if nothing else keeps any of them.
func (c *Crawl) endedByHosts(ctx context.Context) (string, error) {
	by, others := "", false
	err := status.EachHost(ctx, c.cfg.Frontier, 0, func(h frontier.Host) bool {
		switch {
		case h.Pending() == 0:
		case h.Condition == frontier.Retired && h.Reason == reasonMaxPerHost:
			by = cmp.Or(by, EndedMaxPerHost)
		case h.Condition == frontier.Retired && h.Reason == reasonMaxPerDomain:
			by = EndedMaxPerDomain
		default:
			others = true
		}
		return !others
	})
	if others || by == "" {
		by = EndedWaiting
	}
	return by, err
}
