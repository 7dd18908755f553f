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
