package bolt

import (
	"context"
	"fmt"

	"curtsy/frontier"
)

// Add implements frontier.Frontier.
func (f *Frontier) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	if err := frontier.CheckCandidates(cs); err != nil {
		return frontier.Added{}, fmt.Errorf("frontier/bolt: add: %w", err)
	}
	prints := f.prints(cs)
	var added frontier.Added
	var g *group
	err := f.changing(ctx, func(now int64) error {
		for from := 0; from < len(cs); from += maxPrints {
			to := min(from+maxPrints, len(cs))
			f.groups.touch(now)
			for _, c := range cs[from:to] {
				if c.Kind == frontier.KindSeed {
					f.groups.open.seeds = append(f.groups.open.seeds, frontier.Seed{URL: c.URL, Tag: c.Tag})
				}
			}
			n := f.accept(now, cs[from:to], prints[from:to])
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

// What follows makes tasks of candidates: what is accepted is seen from then on, counted by its host and the caps, has a
// place in the queue of its host, and is in the open group.

// prints returns the fingerprints of candidates, zero for those that were seen before. It needs no mu.
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

// accept enters the candidates that are new, in order; prints are theirs. The open group has been touched.
func (f *Frontier) accept(now int64, cs []frontier.Candidate, prints []frontier.Fingerprint) frontier.Added {
	var n frontier.Added
	for i := range cs {
		c, p := &cs[i], prints[i]
		if p == 0 || f.seen.Has(p) {
			n.Known++
			continue
		}
		if c.Refused != "" {
			f.refuse(c, p, c.Refused)
			n.Refused++
			continue
		}
		if f.hosts.dropped(c.URL.Authority()) {
			f.refuse(c, p, frontier.ReasonOperator)
			n.Refused++
			n.Barred = append(n.Barred, i)
			continue
		}
		if c.Kind != frontier.KindSeed {
			if reason := f.caps.capped(c); reason != "" {
				f.totals.Capped[reason]++
				n.Capped++
				continue
			}
		}
		f.enqueue(c, p, now)
		n.New++
	}
	f.caps.checkSize()
	return n
}

// refuse enters a candidate that never becomes a task. It does not make its host known: the hosts that links lead to
// out of scope are many more than those of the crawl.
func (f *Frontier) refuse(c *frontier.Candidate, p frontier.Fingerprint, reason string) {
	f.mark(p)
	f.totals.Close(frontier.Dropped, reason)
	h := f.hosts.byName[c.URL.Authority()]
	if h == nil {
		f.totals.Strangers++
		return
	}
	h.outcomes[frontier.Dropped]++
	h.Refused++
	f.groups.open.change(h)
}

// enqueue enters a candidate as a task: it can be claimed from now on, since where its text will be is known.
func (f *Frontier) enqueue(c *frontier.Candidate, p frontier.Fingerprint, now int64) {
	f.mark(p)
	h := f.hosts.know(c.URL.Authority())
	r := f.groups.enter(h, c, p)
	f.caps.accepted++
	if h.domain != nil {
		h.domain.urls++
	}
	f.hosts.count(h, -1)
	h.queued++
	f.hosts.count(h, 1)
	h.queue.Push(r)
	if !h.named {
		f.groups.open.change(h)
	}
	f.scheduler.enter(h, now)
}

// mark enters a fingerprint into the seen-set.
func (f *Frontier) mark(p frontier.Fingerprint) {
	f.seen.Add(p)
	f.groups.open.prints = append(f.groups.open.prints, p)
}

// Options.MaxSize is held against the high-water mark of the file, with what the groups that are not committed will
// add. Pages that are free again count: the file does not become shorter. The mark is what is used of the file; beyond
// it the file may be longer by what it grows at a time, a 64th of MaxSize at most: see growth.
//
// The reserve
//
// When only the reserve is left, no turn is given any more. From then on the file takes what the turns that are
// out bring, once each: per task an ending of 8 bytes or a retry of about 40; per turn a state of 40, a robots state
// or memory, some hundred bytes as a rule and 12 KiB at most, now and then the body of a robots.txt, a few KiB. 32 KiB
// are ten times that, and there is so much for each of 256 turns. A commit writes some 30 pages anew before the old
// ones are free, and the sweeper moves twice what is written: another part is for several of those, and for Close. The
// last is for what has been estimated too low. Links may use half of the reserve. Nothing else is ever dropped: should
// the reserve not suffice, a file that is a little too long is better than a page fetched in vain. Folding, which
// needs room for the whole folded journal, does not take place when there is not that much left. The reserve does not
// depend on what is out, so that a frontier that was full is full when it is opened again.

const (
	reservePages  = 512 << 10      // for the pages that commits rewrite
	reserveLeases = 256 * 32 << 10 // for the turns that are out
)

// reserve returns what is left of a size when no turn is given any more. No part is more than an eighth of a small one.
func reserve(maxSize int64) int64 {
	return min(reservePages, maxSize/8) + min(reserveLeases, maxSize/8) + maxSize/16
}

// textBytes returns what the text of a candidate takes, roughly: zstd packs URLs to a third or a quarter, random ones
// to three quarters.
func textBytes(c *frontier.Candidate) int64 {
	return 8 + int64(len(c.URL.RequestURI())+len(c.Via))/2
}

// caps says whether there is room: for a candidate, by the caps of the options, and for a turn, by the size of the
// file. The caps on URLs count what became a task in this crawl, whatever became of it.
type caps struct {
	options  frontier.Options
	hosts    *hosts
	groups   *groups
	waiting  *waiters
	accepted int64 // entries of all records
	size     int64 // bytes of the file, up to its high-water mark
	full     bool  // no turn is given any more; see checkSize
	tight    bool  // perhaps it is; see checkSize
}

// capped returns the reason why a cap leaves no room for c, empty when there is room. The caps are asked in the order
// of their reasons in package frontier. The caller calls checkSize when it is through.
func (cs *caps) capped(c *frontier.Candidate) string {
	o := &cs.options
	if o.MaxSize > 0 && cs.bytes()+textBytes(c) > o.MaxSize-reserve(o.MaxSize)/2 {
		cs.full = true // from now on the crawl would lose what it finds
		return frontier.ReasonCapSize
	}
	if o.MaxURLs > 0 && cs.accepted >= o.MaxURLs {
		return frontier.ReasonCapCrawl
	}
	if o.MaxURLsPerDomain == 0 && o.MaxURLsPerAuthority == 0 {
		return ""
	}
	h := cs.hosts.byName[c.URL.Authority()]
	if cs.domainFull(h, c) {
		return frontier.ReasonCapDomain
	}
	if n := o.MaxURLsPerAuthority; n > 0 && h != nil && int64(h.accepted()) >= n {
		return frontier.ReasonCapHost
	}
	return ""
}

// domainFull reports whether the registrable domain of c, a candidate of h unless its host is unknown, takes no more.
func (cs *caps) domainFull(h *host, c *frontier.Candidate) bool {
	n := cs.options.MaxURLsPerDomain
	switch {
	case n == 0:
		return false
	case h != nil:
		return h.domain.urls >= n
	}
	d := cs.hosts.domains[c.URL.Authority().RegistrableDomain()]
	return d != nil && d.urls >= n
}

// bytes returns what the file takes, with what the next groups will add.
func (cs *caps) bytes() int64 {
	n := cs.size
	for g := range cs.groups.all() {
		n += g.weight()
	}
	return n
}

// checkSize looks whether the file is full but for the reserve. An estimate that says so may be too high: it stops
// turns only until the commit of what is on its way, which is then urgent, has shown how large the file is. The last
// 64th is not approached in ever smaller steps.
func (cs *caps) checkSize() {
	most := cs.options.MaxSize
	if most == 0 || cs.groups.readOnly {
		return
	}
	left := most - reserve(most)
	was := cs.tight
	cs.full = cs.full || cs.size+most/64 >= left
	if cs.tight = cs.bytes() >= left; cs.tight {
		cs.groups.last()
	}
	if cs.full || was && !cs.tight {
		cs.waiting.wakeAll()
	}
}
