package bolt

import (
	"context"
	"fmt"
	"math"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// Steer implements frontier.Frontier. There is one command at a time, Retry included.
func (f *Frontier) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if err := s.Check(); err != nil {
		return frontier.Steered{}, fmt.Errorf("frontier/bolt: steer: %w", err)
	}
	if err := f.takeCommand(ctx); err != nil {
		return frontier.Steered{}, err
	}
	defer func() { <-f.retrying }()
	if len(s.URLs) > 0 {
		return f.dropURLs(ctx, s)
	}
	var n frontier.Steered
	var g *group
	var h *host
	err := f.changing(ctx, func(now int64) error {
		h = f.byName[s.Authority]
		if h == nil && s.Act == frontier.Resume {
			return nil
		}
		f.touch(now)
		h = f.host(s.Authority)
		n.Changed = f.obey(h, s, now)
		if s.Act == frontier.Drop {
			f.setClosing(h, true)
		}
		f.wakeEnded(now)
		g = f.last()
		return nil
	})
	if err == nil && s.Act == frontier.Drop {
		n.URLs, g, err = f.dropAll(context.WithoutCancel(ctx), h)
	}
	if err != nil {
		return n, err
	}
	return n, g.durable(ctx)
}

// dropAll closes what h, which has just been dropped, has pending: in batches, each atomic, and the hold is there before
// the first, so that no turn and no link can come between. It returns the number of URLs and the last group. Once begun
// it is not cancelled, lest a part stay pending on a host that gets no turn; what a death leaves, the next opening
// closes. It ends with the frontier at the latest.
func (f *Frontier) dropAll(ctx context.Context, h *host) (urls int64, g *group, err error) {
	for h.closing() {
		if err := f.room(ctx); err != nil {
			return urls, nil, err
		}
		err := f.changing(ctx, func(now int64) error {
			f.touch(now)
			f.markDropped(h, now, func(layout.Ref) bool { return true })
			urls += f.dropBatch(h)
			f.wakeEnded(now)
			g = f.last()
			if h.closing() {
				f.seal(now)
			}
			return nil
		})
		if err != nil {
			return urls, nil, err
		}
	}
	return urls, g, nil
}

// takeCommand waits until no other command of an operator is under way. Who gets nil gives the place back.
func (f *Frontier) takeCommand(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.retrying <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// obey does what s says of h itself, and returns whether that is a change. The caller holds mu and has touched the open
// group.
func (f *Frontier) obey(h *host, s frontier.Steering, now int64) bool {
	switch {
	case s.Act == frontier.Resume:
		changed := f.setHold(h, nil, now)
		if h.claimable() || h.lease != nil { // of a leased one, its holder says what it is
			return changed
		}
		f.count(h, -1)
		h.condition, h.reason = frontier.Open, ""
		f.count(h, 1)
		f.open.change(h)
		f.enter(h, now)
		return true
	case s.For > 0:
		return f.setHold(h, &layout.Hold{Act: s.Act, Until: layout.After(now, s.For), Reason: s.Reason}, now)
	}
	return f.setHold(h, &layout.Hold{Act: s.Act, Until: math.MaxInt64, Reason: s.Reason}, now)
}
