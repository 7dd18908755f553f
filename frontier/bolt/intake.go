package bolt

import (
	"context"
	"fmt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
)

// Add implements frontier.Frontier.
func (f *Frontier) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	if err := frontier.CheckCandidates(cs); err != nil {
		return frontier.Added{}, fmt.Errorf("frontier/bolt: add: %w", err)
	}
	prints := f.intake.prints(cs)
	var added frontier.Added
	var g *group
	err := f.changing(ctx, func(now int64) error {
		for from := 0; from < len(cs); from += maxPrints {
			to := min(from+maxPrints, len(cs))
			f.groups.touch(now)
			f.groups.enterSeeds(cs[from:to])
			n := f.intake.accept(now, cs[from:to], prints[from:to])
			added.New += n.New
			added.Refused += n.Refused
			added.Known += n.Known
			added.Capped += n.Capped
			for _, place := range n.Barred {
				added.Barred = append(added.Barred, from+place)
			}
			f.groups.sealFull(now)
		}
		g = f.groups.last()
		return nil
	})
	if err != nil {
		return frontier.Added{}, err
	}
	return added, g.durable(ctx)
}

// intake makes tasks of candidates: what it accepts is seen from then on, counted by its host and the caps, has a place
// in the queue of its host, and is in the open group.
type intake struct {
	printer   *layout.Printer
	totals    *layout.Totals
	seen      *dbfile.Set
	hosts     *hosts
	scheduler *scheduler
	caps      *caps
	groups    *groups
}

// prints returns the fingerprints of candidates, zero for those that were seen before. It needs no mu.
func (in *intake) prints(cs []frontier.Candidate) []frontier.Fingerprint {
	if len(cs) == 0 {
		return nil
	}
	ps := make([]frontier.Fingerprint, len(cs))
	for i := range cs {
		ps[i] = in.printer.Print(cs[i].URL)
	}
	in.seen.Strike(ps)
	return ps
}

// accept enters the candidates that are new, in order; prints are theirs. The open group has been touched.
func (in *intake) accept(now int64, cs []frontier.Candidate, prints []frontier.Fingerprint) frontier.Added {
	var n frontier.Added
	for i := range cs {
		c, p := &cs[i], prints[i]
		if p == 0 || in.seen.Has(p) {
			n.Known++
			continue
		}
		if reason := in.refusal(c); reason != "" {
			in.refuse(c, p, reason)
			n.Refused++
			if c.Refused == "" {
				n.Barred = append(n.Barred, i)
			}
			continue
		}
		if c.Kind != frontier.KindSeed {
			if reason := in.caps.capped(c); reason != "" {
				in.totals.Capped[reason]++
				n.Capped++
				continue
			}
		}
		in.enqueue(c, p, now)
		n.New++
	}
	in.caps.checkSize()
	return n
}

// refusal returns the reason why c never becomes a task, empty when it may.
func (in *intake) refusal(c *frontier.Candidate) string {
	if c.Refused == "" && in.hosts.dropped(c.URL.Authority()) {
		return frontier.ReasonOperator
	}
	return c.Refused
}

// refuse enters a candidate that never becomes a task. It does not make its host known: the hosts that links lead to
// out of scope are many more than those of the crawl.
func (in *intake) refuse(c *frontier.Candidate, p frontier.Fingerprint, reason string) {
	in.mark(p)
	in.totals.Close(frontier.Dropped, reason)
	h := in.hosts.byName[c.URL.Authority()]
	if h == nil {
		in.totals.Strangers++
		return
	}
	h.outcomes[frontier.Dropped]++
	h.Refused++
	in.groups.open.change(h)
}

// enqueue enters a candidate as a task: it can be claimed from now on, since where its text will be is known.
func (in *intake) enqueue(c *frontier.Candidate, p frontier.Fingerprint, now int64) {
	in.mark(p)
	h := in.hosts.know(c.URL.Authority())
	r := in.groups.enter(h, c, p)
	in.caps.accepted++
	if h.domain != nil {
		h.domain.urls++
	}
	in.hosts.count(h, -1)
	h.queued++
	in.hosts.count(h, 1)
	h.queue.Push(r)
	if !h.named {
		in.groups.open.change(h)
	}
	in.scheduler.enter(h, now)
}

// mark enters a fingerprint into the seen-set.
func (in *intake) mark(p frontier.Fingerprint) {
	in.seen.Add(p)
	in.groups.open.prints = append(in.groups.open.prints, p)
}
