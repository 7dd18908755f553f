package bolt

import (
	"context"
	"fmt"
	"maps"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// reading calls note under mu and then, in a transaction that was begun under it, read: both see the same instant.
func (f *Frontier) reading(ctx context.Context, note func(now int64), read func(tx *bbolt.Tx) error) error {
	var tx *bbolt.Tx
	err := f.locked(ctx, func(now int64) (err error) {
		note(now)
		if tx, err = f.db.Begin(false); err != nil {
			err = fmt.Errorf("frontier/bolt: read %s: %w", f.path, err)
		}
		return err
	})
	if err == nil {
		err = dbfile.Guard(func() error {
			defer tx.Rollback()
			return read(tx)
		})
		if err == nil {
			return nil
		}
		err = fmt.Errorf("frontier/bolt: read %s: %w", f.path, err)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.poison(err)
	}
	return err
}

// Stats implements frontier.Frontier.
func (f *Frontier) Stats(ctx context.Context) (st frontier.Stats, err error) {
	err = f.locked(ctx, func(now int64) error {
		d := &f.hosts.sums
		st = frontier.Stats{
			Outcomes: f.totals.Outcomes, Reasons: f.totals.ByReason(), Capped: maps.Clone(f.totals.Capped), Counts: maps.Clone(f.totals.Counts),
			Queued: d.queued, InFlight: d.inFlight, Deferred: d.deferred,
			Hosts: d.known, Pending: d.pending, Leases: int64(f.leases.out),
			Parked: d.conditions[frontier.Parked], Retired: d.conditions[frontier.Retired], Refused: d.conditions[frontier.Refused],
			Stopped: d.stopped, Suspects: f.suspects.known, Size: f.caps.octets(),
			Unclean: f.unclean, Restarts: max(int64(f.leases.epoch)-1, 0),
		}
		st.Discovered = f.totals.Closed() + d.queued + d.inFlight + d.deferred
		st.State, st.Due = f.scheduler.summary(now)
		return nil
	})
	return st, err
}

// Host implements frontier.Frontier.
func (f *Frontier) Host(ctx context.Context, a canon.Authority) (view frontier.Host, ok bool, err error) {
	var p *portrait
	err = f.reading(ctx, func(now int64) {
		if h := f.hosts.byName[a]; h != nil {
			p = portray(h, f.groups.unwritten, now)
		}
	}, func(tx *bbolt.Tx) error {
		if p == nil {
			return nil
		}
		return p.complete(&layout.Lookup{Tx: tx, Journal: layout.StateJournal})
	})
	if err != nil || p == nil {
		return frontier.Host{}, false, err
	}
	return p.view, true, nil
}

// Hosts implements frontier.Frontier.
func (f *Frontier) Hosts(ctx context.Context, after canon.Authority, limit int) ([]frontier.Host, error) {
	if limit <= 0 {
		return nil, ctx.Err()
	}
	var hosts []*host
	err := f.locked(ctx, func(int64) error {
		hosts = f.hosts.all // only ever appended to
		return nil
	})
	if err != nil {
		return nil, err
	}
	page := f.hosts.names.page(hosts, after, limit)
	var ps []*portrait
	err = f.reading(ctx, func(now int64) {
		for _, h := range page {
			ps = append(ps, portray(h, f.groups.unwritten, now))
		}
	}, func(tx *bbolt.Tx) error {
		cells := layout.Lookup{Tx: tx, Journal: layout.StateJournal}
		for _, p := range ps {
			if err := p.complete(&cells); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	views := make([]frontier.Host, len(ps))
	for i, p := range ps {
		views[i] = p.view
	}
	return views, nil
}

// Seen implements frontier.Frontier. It errs only as fingerprints do.
func (f *Frontier) Seen(ctx context.Context, us []canon.URL) ([]bool, error) {
	yes := make([]bool, len(us))
	prints := make(map[frontier.Fingerprint][]int, len(us))
	for i, u := range us {
		p := f.printer.Print(u)
		prints[p] = append(prints[p], i)
	}
	mark := func(p frontier.Fingerprint) {
		for _, i := range prints[p] {
			yes[i] = true
		}
	}
	if f.readOnly { // the set is not in RAM: this is no crawl
		err := f.reading(ctx, func(int64) {}, func(tx *bbolt.Tx) error {
			return layout.ReadPrints(tx, func(p frontier.Fingerprint) error {
				mark(p)
				return nil
			})
		})
		return yes, err
	}
	err := f.locked(ctx, func(int64) error {
		for p := range prints {
			if f.seen.Has(p) {
				mark(p)
			}
		}
		return nil
	})
	return yes, err
}
