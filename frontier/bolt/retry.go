package bolt

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// Retry implements frontier.Frontier. The closed URLs are not in RAM: they are looked for in the file, after all that
// was applied before has got there, and without mu. Nothing but Retry opens what is closed, and there is one at a time,
// so what was found closed is closed still when mu is held again. URLs are opened in batches, each atomic.
func (f *Frontier) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	if err := r.Check(); err != nil {
		return frontier.Retried{}, fmt.Errorf("frontier/bolt: retry: %w", err)
	}
	if err := f.operator.begin(ctx); err != nil {
		return frontier.Retried{}, err
	}
	defer f.operator.end()
	if err := f.Sync(ctx); err != nil {
		return frontier.Retried{}, err
	}
	found, err := f.operator.find(ctx, r)
	if err != nil {
		return frontier.Retried{}, err
	}
	var n frontier.Retried
	var g *group
	if r.Hosts {
		err := f.changing(ctx, func(now int64) error {
			n.Hosts = f.operator.openHosts(r, now)
			g = f.groups.last()
			return nil
		})
		if err != nil {
			return n, err
		}
	}
	for batch := range slices.Chunk(found, maxPrints) {
		if err := f.room(ctx); err != nil {
			return n, err
		}
		err := f.changing(ctx, func(now int64) error {
			f.groups.touch(now)
			for _, c := range batch {
				f.operator.reopen(c, r.Robots, now)
			}
			g = f.groups.last()
			f.groups.seal(now)
			return nil
		})
		if err != nil {
			return n, err
		}
		n.URLs += int64(len(batch))
	}
	return n, g.durable(ctx)
}

// storedURL is a closed URL, as the file has it.
type storedURL struct {
	ref    layout.Ref
	host   uint32
	ending layout.Ending
}

// find returns the URLs that r names, in the order of acceptance: two passes over the heads of the records and one
// over what is done, as in an open.
func (o *operator) find(ctx context.Context, r frontier.Retrial) (found []storedURL, err error) {
	if r.Outcome == 0 {
		return nil, nil
	}
	var only *host
	var reason int
	known := true
	err = o.f.reading(ctx, func(int64) {
		only = o.f.hosts.byName[r.Authority]
		if r.Reason != "" {
			reason, known = o.f.totals.Numbers[r.Reason]
		}
	}, func(tx *bbolt.Tx) error {
		if only == nil && !r.Authority.IsZero() || !known {
			return nil
		}
		all, err := layout.ReadEndings(tx)
		if err != nil {
			return err
		}
		var spans []layout.Span
		return layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
			if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
				return err
			}
			place := 0
			for _, s := range spans {
				for range s.N {
					e := all.Record(seq)[place]
					named := (reason == 0 || e.Reason() == reason) && (only == nil || only.id == s.Host)
					if named && e.Outcome() == r.Outcome {
						found = append(found, storedURL{ref: layout.MakeRef(seq, place), host: s.Host, ending: e})
					}
					place++
				}
			}
			return nil
		})
	})
	return found, err
}

// reopen makes a closed URL pending. The record of its attempts is voided in the file, too: an older one would
// otherwise count again as soon as the URL is not closed. The caller holds mu and has touched the open group.
func (o *operator) reopen(c storedURL, robots bool, now int64) {
	h := o.f.hosts.all[c.host]
	o.f.hosts.count(h, -1)
	h.outcomes[c.ending.Outcome()]--
	h.queued++
	o.f.hosts.count(h, 1)
	o.f.totals.Reopen(c.ending)
	delete(o.f.retries.of, c.ref)
	t := &retry{Retry: layout.Retry{Due: now}}
	if c.ending.Outcome() == frontier.Held {
		t.Reason = frontier.ReasonReleased
		o.f.retries.of[c.ref] = t
	}
	o.f.groups.open.done = append(o.f.groups.open.done, layout.MakeDone(c.ref, 0))
	o.f.groups.open.keep(t.StateRecord(c.ref, o.f.clock, now))
	if robots {
		o.forgetRobots(h)
	}
	h.queue.GiveBack(c.ref)
	o.f.scheduler.enter(h, now)
}

// openHosts opens the hosts that take no part and returns their number. The caller holds mu.
func (o *operator) openHosts(r frontier.Retrial, now int64) (n int64) {
	o.f.groups.touch(now)
	for _, h := range o.f.hosts.all {
		if h == nil || h.claimable() || h.lease != nil || !r.Authority.IsZero() && h.authority != r.Authority {
			continue
		}
		o.f.hosts.count(h, -1)
		h.Condition, h.Reason = frontier.Open, ""
		o.f.hosts.count(h, 1)
		o.f.groups.open.change(h)
		if r.Robots {
			o.forgetRobots(h)
		}
		o.f.scheduler.enter(h, now)
		n++
	}
	return n
}

// forgetRobots drops the robots state of h, unless h is leased. The caller holds mu and has touched the open group.
func (o *operator) forgetRobots(h *host) {
	a := layout.Address{Kind: layout.KindRobots, ID: uint64(h.id)}
	c := o.f.groups.unwritten[a]
	if h.lease != nil || c == nil && h.at[layout.KindRobots-1] == 0 || c != nil && len(c.Data) == 0 {
		return
	}
	o.f.groups.store(&layout.StateRecord{Address: a})
}
