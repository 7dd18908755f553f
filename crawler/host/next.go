package host

import "curtsy/frontier"

// NextGeneration is what is kept of a host in the next generation: all that politeness needs (its condition, how long it rests,
// its pace, its robots policy, what is in a row), and nothing of what it brought.
func NextGeneration(h frontier.Host) (frontier.Host, error) {
	n, err := Read(h.Memory)
	if err != nil {
		return h, err
	}
	n.Pages, n.Sitemaps, n.History = 0, 0, nil
	next := frontier.Host{Authority: h.Authority, HostUpdate: h.HostUpdate, Hold: h.Hold, Wait: h.Wait}
	if next.Condition == frontier.Retired { // of a run
		next.Condition, next.Reason = frontier.Open, ""
	}
	if len(h.Memory) > 0 {
		next.Memory = n.Append(nil)
	}
	return next, nil
}

// NextRound is what is kept of a host when some of its pages are asked for again: so many pages count as fetched, and what its
// traps have learned stays. Like NextGeneration it opens a host that was retired.
func NextRound(h frontier.Host, pages uint64) (frontier.Host, error) {
	kept, err := Read(h.Memory)
	if err != nil {
		return h, err
	}
	next, err := NextGeneration(h)
	if len(h.Memory) > 0 {
		kept.Pages, kept.Sitemaps = pages, 0
		next.Memory = kept.Append(nil)
	}
	return next, err
}
