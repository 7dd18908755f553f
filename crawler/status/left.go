package status

import (
	"context"

	"curtsy/frontier"
)

// Left lists all hosts that have something left to do, with why nothing is done of it now.
func Left(ctx context.Context, f frontier.Reader) ([]Resting, error) {
	var out []Resting
	err := EachHost(ctx, f, 0, func(h frontier.Host) bool {
		r := restingOf(h)
		switch {
		case r.Pending == 0:
			return true
		case h.Condition != frontier.Open || h.Hold.Act != 0:
		case h.Deferred == r.Pending:
			r.Reason = "its URLs wait to be tried again"
		default:
			r.Reason = "its pace"
		}
		out = append(out, r)
		return true
	})
	return out, err
}
