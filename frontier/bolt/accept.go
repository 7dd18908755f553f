package bolt

import (
	"context"
	"fmt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// Add implements frontier.Frontier.
func (f *Frontier) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	if err := checkCandidates(cs); err != nil {
		return frontier.Added{}, fmt.Errorf("frontier/bolt: add: %w", err)
	}
	prints := f.prints(cs)
	var added frontier.Added
	var g *group
	err := f.changing(ctx, func(now int64) error {
		for from := 0; from < len(cs); from += maxPrints {
			to := min(from+maxPrints, len(cs))
			f.touch(now)
			f.enterSeeds(cs[from:to])
			n := f.accept(now, cs[from:to], prints[from:to])
			added.New += n.New
			added.Refused += n.Refused
			added.Known += n.Known
			added.Capped += n.Capped
			for _, place := range n.Barred {
				added.Barred = append(added.Barred, from+place)
			}
			f.sealFull(now)
		}
		g = f.last()
		return nil
	})
	if err != nil {
		return frontier.Added{}, err
	}
	return added, g.durable(ctx)
}

// enterSeeds puts the seeds among candidates into the list of seeds. The caller holds mu and has touched the open
// group.
func (f *Frontier) enterSeeds(cs []frontier.Candidate) {
	for _, c := range cs {
		if c.Kind == frontier.KindSeed {
			f.open.seeds = append(f.open.seeds, frontier.Seed{URL: c.URL, Tag: c.Tag})
		}
	}
}

// prints returns the fingerprints of candidates, zero for those that were seen before.
func (f *Frontier) prints(cs []frontier.Candidate) []frontier.Fingerprint {
	if len(cs) == 0 {
		return nil
	}
	ps := make([]frontier.Fingerprint, len(cs))
	for i := range cs {
		ps[i] = f.printer.Print(cs[i].URL)
	}
	f.seen.Strike(ps)
	return ps
}

// accept enters the candidates that are new, in order; prints are theirs. The caller holds mu and has touched the
// open group.
func (f *Frontier) accept(now int64, cs []frontier.Candidate, prints []frontier.Fingerprint) frontier.Added {
	var n frontier.Added
	for i := range cs {
		c, p := &cs[i], prints[i]
		if p == 0 || f.seen.Has(p) {
			n.Known++
			continue
		}
		if reason := f.refusal(c); reason != "" {
			f.refuse(c, p, reason)
			n.Refused++
			if c.Refused == "" {
				n.Barred = append(n.Barred, i)
			}
			continue
		}
		if c.Kind != frontier.KindSeed {
			if reason := f.capped(c); reason != "" {
				f.totals.Capped[reason]++
				n.Capped++
				continue
			}
		}
		f.enqueue(c, p, now)
		n.New++
	}
	f.gauge()
	return n
}

// refuse enters a candidate that never becomes a task. It does not make its host known: the hosts that links lead to
// out of scope are many more than those of the crawl.
func (f *Frontier) refuse(c *frontier.Candidate, p frontier.Fingerprint, reason string) {
	f.mark(p)
	f.totals.Close(frontier.Dropped, reason)
	h := f.byName[c.URL.Authority()]
	if h == nil {
		f.totals.Strangers++
		return
	}
	h.outcomes[frontier.Dropped]++
	h.refused++
	f.open.change(h)
}

// enqueue enters a candidate as a task: it can be claimed from now on, since where its text will be is known.
func (f *Frontier) enqueue(c *frontier.Candidate, p frontier.Fingerprint, now int64) {
	f.mark(p)
	h := f.host(c.URL.Authority())
	if f.filling == nil || f.filling.Full() {
		f.records++
		f.filling = &layout.Record{ID: f.records}
		f.fresh[f.records] = f.filling
		f.open.records = append(f.open.records, f.filling)
	}
	r := layout.MakeRef(f.records, f.filling.Add(h.id, *c, p))
	f.accepted++
	f.open.octets += textOctets(c)
	if h.domain != nil {
		h.domain.urls++
	}
	f.count(h, -1)
	h.queued++
	f.count(h, 1)
	h.queue.push(r)
	if !h.named {
		f.open.change(h)
	}
	f.enter(h, now)
}

// mark enters a fingerprint into the seen-set.
func (f *Frontier) mark(p frontier.Fingerprint) {
	f.seen.Add(p)
	f.open.prints = append(f.open.prints, p)
}
