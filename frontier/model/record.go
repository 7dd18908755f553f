package model

import (
	"context"
	"slices"
	"time"

	"curtsy/frontier"
)

// recorded returns turns when it is durable that they are out, if that is due: in a run after an unclean stop until it
// has come far enough, and always with a suspect. Those that have expired meanwhile are left out. The caller holds mu;
// it is free during the wait.
func (m *Model) recorded(ctx context.Context, turns []frontier.Turn) ([]frontier.Turn, error) {
	suspect := slices.ContainsFunc(turns, func(t frontier.Turn) bool { return m.dealer.leases[t.Authority].stops > 0 })
	if !suspect && !m.dealer.careful() {
		return turns, nil
	}
	m.flush()
	for last := m.claims; m.known < last; {
		if err := m.halted(ctx); err != nil {
			for _, t := range turns {
				if m.dealer.holds(t.Authority, t.Token) {
					m.dealer.takeBack(t.Authority)
				}
			}
			m.broadcast()
			return nil, err
		}
	}
	m.expire(time.Now())
	return slices.DeleteFunc(turns, func(t frontier.Turn) bool { return !m.dealer.holds(t.Authority, t.Token) }), nil
}

// halted waits for a change, and returns why there is nothing more to wait for, or nil.
func (m *Model) halted(ctx context.Context) error {
	switch {
	case m.err != nil:
		return m.err
	case m.crashed:
		return frontier.ErrClosed
	}
	return m.await(ctx, nil)
}

// careful reports whether the last stop was unclean and too few results have been applied since to forget it.
func (s *state) careful() bool {
	return s.unclean && s.results < s.known+frontier.GroupPages
}
