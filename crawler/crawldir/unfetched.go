package crawldir

import (
	"cmp"
	"context"

	"curtsy/crawler/budget"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Words of Unfetched that are not rules.
const (
	StillQueued = "still queued"
	NotFollowed = "reference not followed" // as of cite or longdesc, or of a page with too many links
)

// Unfetched returns a function that reports why the crawl of s with the frontier f did not request a URL that its pages name
// and that its ledger does not: a budget ("budget: max-urls"), a rule of the scope, what its host is shut for, StillQueued,
// NotFollowed, or "" if it is done. embed reports that pages need the URL to be complete.
func Unfetched(ctx context.Context, s *Settings, f frontier.Frontier) (func(u canon.URL, embed bool) (string, error), error) {
	config, err := s.ScopeConfig()
	if err != nil {
		return nil, err
	}
	rules, err := scope.New(config, nil)
	if err != nil {
		return nil, err
	}
	for seed, err := range f.AllSeeds(ctx) {
		if err != nil {
			return nil, err
		}
		rules.Extend(seed.URL)
	}
	stats, err := f.Stats(ctx)
	if err != nil {
		return nil, err
	}
	over, queued := "", StillQueued
	for _, reason := range budget.Caps {
		if stats.Capped[reason[0]] > 0 {
			over = storage.RuleOfBudget + reason[1]
			break
		}
	}
	switch {
	case s.MaxPages > 0 && stats.Counts[budget.Pages] >= s.MaxPages:
		queued = storage.RuleOfBudget + budget.MaxPages
	case s.MaxBytes > 0 && stats.Counts[budget.Bytes] >= s.MaxBytes:
		queued = storage.RuleOfBudget + budget.MaxBytes
	}
	return func(u canon.URL, embed bool) (string, error) {
		seen, err := f.Seen(ctx, []canon.URL{u})
		if err != nil {
			return "", err
		}
		if seen[0] {
			h, _, err := f.Host(ctx, u.Authority())
			switch {
			case err != nil || h.Pending() == 0: // it is done, and the caller lacks its line
				return "", err
			case h.Condition == frontier.Open:
				return queued, nil
			}
			return cmp.Or(h.Reason, queued), nil
		}
		c := scope.Candidate{URL: u, Embed: embed, Depth: 1}
		if embed {
			c.Depth, c.Embeds = 0, 1
			if !rules.Covers(u) {
				c.Away = 1
			}
		}
		if v := rules.Judge(c); !v.In {
			return v.Rule, nil
		}
		return cmp.Or(over, NotFollowed), nil
	}, nil
}
