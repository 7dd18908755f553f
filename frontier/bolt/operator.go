package bolt

import (
	"context"
	"fmt"
	"math"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// operator does what people command: Retry and Steer. It works on the frontier as its callers do, takes mu for each
// batch of URLs and leaves it between two, and looks into the file without it. There is one command at a time.
type operator struct {
	f    *Frontier
	busy chan struct{} // holds one: whoever is in Retry or Steer
}

// begin waits until no other command of an operator is under way. A caller that gets nil calls end.
func (o *operator) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case o.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end ends a command.
func (o *operator) end() { <-o.busy }

// Steer implements frontier.Frontier. There is one command at a time, Retry included.
func (f *Frontier) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if err := s.Check(); err != nil {
		return frontier.Steered{}, fmt.Errorf("frontier/bolt: steer: %w", err)
	}
	if err := f.operator.begin(ctx); err != nil {
		return frontier.Steered{}, err
	}
	defer f.operator.end()
	if len(s.URLs) > 0 {
		return f.operator.dropURLs(ctx, s)
	}
	var n frontier.Steered
	var g *group
	var h *host
	err := f.changing(ctx, func(now int64) error {
		h = f.hosts.byName[s.Authority]
		if h == nil && s.Act == frontier.Resume {
			return nil
		}
		f.groups.touch(now)
		h = f.hosts.know(s.Authority)
		n.Changed = f.operator.obey(h, s, now)
		if s.Act == frontier.Drop {
			f.operator.setClosing(h, true)
		}
		f.scheduler.wakeEnded(now)
		g = f.groups.last()
		return nil
	})
	if err == nil && s.Act == frontier.Drop {
		n.URLs, g, err = f.operator.dropAll(context.WithoutCancel(ctx), h)
	}
	if err != nil {
		return n, err
	}
	return n, g.durable(ctx)
}

// dropAll closes what h, which has just been dropped, has pending: in batches, each atomic, and the hold is there
// before the first, so that no turn and no link can come between. It returns the number of URLs and the last group.
// Once begun it is not cancelled, lest a part stay pending on a host that gets no turn; what a death leaves, the next
// opening closes. It ends with the frontier at the latest.
func (o *operator) dropAll(ctx context.Context, h *host) (urls int64, g *group, err error) {
	for h.closing() {
		if err := o.f.room(ctx); err != nil {
			return urls, nil, err
		}
		err := o.f.changing(ctx, func(now int64) error {
			o.f.groups.touch(now)
			o.markDropped(h, now, func(layout.Ref) bool { return true })
			urls += o.dropBatch(h)
			o.f.scheduler.wakeEnded(now)
			g = o.f.groups.last()
			if h.closing() {
				o.f.groups.seal(now)
			}
			return nil
		})
		if err != nil {
			return urls, nil, err
		}
	}
	return urls, g, nil
}

// obey does what s says of h itself, and returns whether that is a change. The caller holds mu and has touched the open
// group.
func (o *operator) obey(h *host, s frontier.Steering, now int64) bool {
	switch {
	case s.Act == frontier.Resume:
		changed := o.setHold(h, nil, now)
		if h.claimable() || h.lease != nil { // of a leased one, its holder says what it is
			return changed
		}
		o.f.hosts.count(h, -1)
		h.Condition, h.Reason = frontier.Open, ""
		o.f.hosts.count(h, 1)
		o.f.groups.open.change(h)
		o.f.scheduler.enter(h, now)
		return true
	case s.Act == frontier.Rest:
		was := h.NotBefore
		if h.wait(now, s.For); s.For == 0 || h.NotBefore == was {
			return false
		}
		o.f.groups.open.change(h)
		o.f.scheduler.reschedule(h, now)
		return true
	case s.For > 0:
		return o.setHold(h, &layout.Hold{Act: s.Act, Until: layout.After(now, s.For), Reason: s.Reason}, now)
	}
	return o.setHold(h, &layout.Hold{Act: s.Act, Until: math.MaxInt64, Reason: s.Reason}, now)
}

// setHold puts k, or nil, in the place of the hold of h, and returns whether that is a change. The caller holds mu and
// has touched the open group.
func (o *operator) setHold(h *host, k *layout.Hold, now int64) bool {
	if h.Hold.Same(k) {
		return false
	}
	o.f.hosts.count(h, -1)
	h.Hold = k
	o.f.hosts.count(h, 1)
	o.f.groups.open.change(h)
	o.f.scheduler.watch(h)
	o.f.scheduler.reschedule(h, now)
	return true
}

// setClosing notes that a Drop of h, which is dropped, has begun to close what is pending, or is through. The caller
// holds mu and has touched the open group.
func (o *operator) setClosing(h *host, yes bool) {
	if h.Hold.Closing != yes {
		h.Hold.Closing = yes
		o.f.groups.open.change(h)
	}
	o.f.scheduler.closing = yes // there is one command at a time
}
