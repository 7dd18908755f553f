package bolt

import (
	"context"
	"errors"
	"fmt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Claim implements frontier.Frontier.
func (f *Frontier) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	var pending []*pendingTurn
	var answer frontier.Claimed
	var record *group
	err := f.changing(ctx, func(now int64) (err error) {
		pending, answer, err = f.claim(ctx, w, now)
		record = f.turns.recordOf(pending)
		return err
	})
	if err != nil {
		return frontier.Claimed{}, err
	}
	if err := f.complete(pending); err != nil {
		return frontier.Claimed{}, err
	}
	if err := record.durable(ctx); err != nil {
		f.takeBack(pending)
		return frontier.Claimed{}, err
	}
	for _, d := range pending {
		answer.Turns = append(answer.Turns, d.turn)
	}
	return answer, nil
}

// locked calls step under mu, with the leases that have expired taken back, unless f takes no calls.
func (f *Frontier) locked(ctx context.Context, step func(now int64) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	now := f.clock.Now()
	f.scheduler.endHolds(now)
	f.turns.expire(now)
	return step(now)
}

// changing is locked for calls that change something.
func (f *Frontier) changing(ctx context.Context, step func(now int64) error) error {
	if f.readOnly {
		return fmt.Errorf("frontier/bolt: %s: %w", f.path, frontier.ErrReadOnly)
	}
	return f.locked(ctx, step)
}

// claim leases hosts, waiting for one if need be. The caller holds mu.
func (f *Frontier) claim(ctx context.Context, w frontier.Want, now int64) ([]*pendingTurn, frontier.Claimed, error) {
	if err := f.leases.left(); err != nil {
		return nil, frontier.Claimed{}, err
	}
	var me *waiter
	defer func() { f.waiting.leave(me) }()
	for {
		var pending []*pendingTurn
		for len(pending) < max(w.Hosts, 1) {
			h := f.scheduler.next(now)
			if h == nil {
				break
			}
			pending = append(pending, f.turns.lease(h, now, max(w.Tasks, 1)))
		}
		if len(pending) > 0 {
			return pending, frontier.Claimed{}, f.begin(pending)
		}
		if me == nil {
			me = f.waiting.join(w.MaxWait)
		}
		if state, due := f.scheduler.summary(now); me.over(state, due) {
			return nil, frontier.Claimed{State: state, Due: due}, nil
		}
		if err := f.waiting.await(ctx, &f.mu, me, now, f.scheduler.wakesAt()); err != nil {
			return nil, frontier.Claimed{}, err
		}
		if err := f.usable(); err != nil {
			return nil, frontier.Claimed{}, err
		}
		now = f.clock.Now()
		f.scheduler.endHolds(now)
		f.turns.expire(now)
	}
}

// ClaimAuthority implements frontier.Frontier.
func (f *Frontier) ClaimAuthority(ctx context.Context, a canon.Authority) (frontier.Turn, error) {
	if a.IsZero() {
		return frontier.Turn{}, errors.New("frontier/bolt: claim authority: it is the zero authority")
	}
	var pending []*pendingTurn
	err := f.changing(ctx, func(now int64) error {
		if err := f.leases.left(); err != nil {
			return err
		}
		h := f.hosts.know(a)
		if h.lease != nil || !h.claimable() || h.stopped() || h.free() > now || f.scheduler.shut() {
			return frontier.ErrNotDue
		}
		f.scheduler.due.Leave(h.id)
		pending = []*pendingTurn{f.turns.lease(h, now, 0)}
		return f.begin(pending)
	})
	if err != nil {
		return frontier.Turn{}, err
	}
	if err := f.complete(pending); err != nil {
		return frontier.Turn{}, err
	}
	return pending[0].turn, nil
}

// takeBack ends the leases of pending that their caller did not wait for.
func (f *Frontier) takeBack(pending []*pendingTurn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.usable() != nil {
		return
	}
	now := f.clock.Now()
	f.groups.touch(now)
	for _, d := range pending {
		if h := f.hosts.byName[d.turn.Authority]; h.lease == d.lease {
			f.turns.lapse(h, now)
		}
	}
}
