package model

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// read calls f under mu, with the leases that have expired taken back, unless m takes no calls.
func (m *Model) read(ctx context.Context, f func(now time.Time)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return err
	}
	now := time.Now()
	m.expire(now)
	f(now)
	return nil
}

// Seen implements frontier.Frontier. It never errs.
func (m *Model) Seen(ctx context.Context, us []canon.URL) ([]bool, error) {
	seen := make([]bool, len(us))
	err := m.read(ctx, func(time.Time) {
		for i, u := range us {
			seen[i] = m.dealer.seen[u.Key()]
		}
	})
	return seen, err
}

// AllSeeds implements frontier.Frontier.
func (m *Model) AllSeeds(ctx context.Context) iter.Seq2[frontier.Seed, error] {
	return func(yield func(frontier.Seed, error) bool) {
		var seeds []frontier.Seed
		if err := m.read(ctx, func(time.Time) { seeds = slices.Clone(m.dealer.seeds) }); err != nil {
			yield(frontier.Seed{}, err)
			return
		}
		for _, s := range seeds {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Blob implements frontier.Frontier.
func (m *Model) Blob(ctx context.Context, sum [32]byte) (body []byte, err error) {
	found := false
	err = m.read(ctx, func(time.Time) {
		body, found = m.dealer.blobs[sum]
		body = slices.Clone(body)
	})
	if err == nil && !found {
		err = frontier.ErrNoBlob
	}
	return body, err
}

// Host implements frontier.Frontier.
func (m *Model) Host(ctx context.Context, a canon.Authority) (v frontier.Host, ok bool, err error) {
	err = m.read(ctx, func(now time.Time) {
		var h *host
		if h, ok = m.dealer.hosts[a]; ok {
			v = m.dealer.view(h, now)
		}
	})
	return v, ok, err
}

// Hosts implements frontier.Frontier.
func (m *Model) Hosts(ctx context.Context, after canon.Authority, limit int) (page []frontier.Host, err error) {
	err = m.read(ctx, func(now time.Time) {
		hosts := slices.Clone(m.dealer.order)
		slices.SortFunc(hosts, func(a, b *host) int { return strings.Compare(a.authority.String(), b.authority.String()) })
		for _, h := range hosts {
			if len(page) < limit && h.authority.String() > after.String() {
				page = append(page, m.dealer.view(h, now))
			}
		}
	})
	return page, err
}

// Stats implements frontier.Frontier.
func (m *Model) Stats(ctx context.Context) (st frontier.Stats, err error) {
	err = m.read(ctx, func(now time.Time) { st = m.dealer.stats(now) })
	return st, err
}
