package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

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
			Outcomes: f.totals.Outcomes, Reasons: f.totals.ByReason(),
			Capped: maps.Clone(f.totals.Capped), Counts: maps.Clone(f.totals.Counts),
			Queued: d.queued, InFlight: d.inFlight, Deferred: d.deferred,
			Hosts: d.known, Pending: d.pending, Leases: int64(f.leases.out),
			Parked: d.conditions[frontier.Parked], Retired: d.conditions[frontier.Retired], Refused: d.conditions[frontier.Refused],
			Stopped: d.stopped, Suspects: f.suspects.known, Size: f.caps.bytes(),
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
	var p *hostView
	err = f.reading(ctx, func(now int64) {
		if h := f.hosts.byName[a]; h != nil {
			p = viewHost(h, f.groups.unwritten, now)
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
	var ps []*hostView
	err = f.reading(ctx, func(now int64) {
		for _, h := range page {
			ps = append(ps, viewHost(h, f.groups.unwritten, now))
		}
	}, func(tx *bbolt.Tx) error {
		states := layout.Lookup{Tx: tx, Journal: layout.StateJournal}
		for _, p := range ps {
			if err := p.complete(&states); err != nil {
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
			return layout.ReadWords(tx, layout.SeenJournal, func(p frontier.Fingerprint) error {
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

// Blob implements frontier.Frontier.
func (f *Frontier) Blob(ctx context.Context, sum [32]byte) ([]byte, error) {
	var later, body []byte // later is not in the file yet
	find := func(g *group) {
		for _, b := range g.blobs {
			if b.Sum == sum {
				later = append([]byte{}, b.Body...)
			}
		}
	}
	err := f.reading(ctx, func(int64) {
		for g := range f.groups.all() {
			find(g)
		}
	}, func(tx *bbolt.Tx) (err error) {
		body, err = layout.ReadBlob(tx, sum)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case later != nil:
		return later, nil
	case body == nil:
		return nil, frontier.ErrNoBlob
	}
	return body, nil
}

// seedValues is how many values of the journal, of some 40 seeds each, AllSeeds reads at once.
const seedValues = 64

// AllSeeds implements frontier.Frontier. It reads some values of the journal in one transaction, and hands out their
// seeds after it.
func (f *Frontier) AllSeeds(ctx context.Context) iter.Seq2[frontier.Seed, error] {
	return func(yield func(frontier.Seed, error) bool) {
		for at, more := uint64(0), true; more; at += seedValues {
			var page []frontier.Seed
			var err error
			if page, more, err = f.seedPage(ctx, at); err != nil {
				yield(frontier.Seed{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// seedPage returns the seeds of the values beyond after, seedValues at most. When there are no more it adds those that
// are not in the file yet: between a commit and the moment when it is known, they are in both.
func (f *Frontier) seedPage(ctx context.Context, after uint64) (page []frontier.Seed, more bool, err error) {
	var later []frontier.Seed
	var last uint64
	err = f.reading(ctx, func(int64) {
		if more = f.groups.lastSeed > after+seedValues; more {
			last = after + seedValues
			return
		}
		last = f.groups.lastSeed
		for g := range f.groups.all() {
			later = append(later, g.seeds...)
		}
	}, func(tx *bbolt.Tx) error {
		return layout.EachSeed(tx, after, last, func(s frontier.Seed) error {
			page = append(page, s)
			return nil
		})
	})
	return append(page, later...), more, err
}

// halt ends a scan early. It is no fault of the file.
type halt struct{ cause error } // nil when the scan has found what it looked for

func (h halt) Error() string { return "halted" }

// scan is reading for what takes long: read may end it by a halt, whose cause is then the answer, and which leaves the
// frontier usable.
func (f *Frontier) scan(ctx context.Context, note func(now int64), read func(tx *bbolt.Tx) error) error {
	var h halt
	err := f.reading(ctx, note, func(tx *bbolt.Tx) error {
		if err := read(tx); !errors.As(err, &h) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.cause
}

// Survey implements frontier.Frontier: one pass over the hosts, under mu and without the disk.
func (f *Frontier) Survey(ctx context.Context, n int) (s frontier.Survey, err error) {
	err = f.locked(ctx, func(now int64) error {
		longest, shut := top{n: n}, top{n: n}
		s = frontier.Survey{Why: map[frontier.Condition]map[string]int64{}, Holds: map[frontier.Act]int64{}}
		for _, h := range f.hosts.all {
			if h == nil {
				continue
			}
			if h.Hold != nil {
				s.Holds[h.Hold.Act]++
			}
			if h.Condition != frontier.Open {
				if s.Why[h.Condition] == nil {
					s.Why[h.Condition] = map[string]int64{}
				}
				s.Why[h.Condition][h.Reason]++
			}
			if h.pending() == 0 {
				continue
			}
			longest.offer(h)
			if h.Condition != frontier.Open || h.Hold != nil {
				shut.offer(h)
			}
		}
		s.Longest, s.Shut = longest.views(now), shut.views(now)
		return nil
	})
	return s, err
}

// views describes the hosts of t, the first first, as far as RAM knows them. The caller holds mu.
func (t top) views(now int64) (views []frontier.Host) {
	for _, h := range t.hosts {
		v := viewHost(h, nil, now).view
		v.Robots, v.Memory = nil, nil
		views = append(views, v)
	}
	return views
}

// rank orders hosts by their pending URLs, most first, and equal ones by their names.
func rank(a, b *host) int {
	return cmp.Or(cmp.Compare(b.pending(), a.pending()), strings.Compare(a.authority.String(), b.authority.String()))
}

// top holds the first n hosts, by rank, of those that were offered, in order.
type top struct {
	n     int
	hosts []*host
}

func (t *top) offer(h *host) {
	i, _ := slices.BinarySearchFunc(t.hosts, h, rank)
	if i < t.n {
		t.hosts = slices.Insert(t.hosts, i, h)[:min(len(t.hosts)+1, t.n)]
	}
}
