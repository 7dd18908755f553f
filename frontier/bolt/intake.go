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
			if reason := f.caps.capReason(c); reason != "" {
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

// refuse does not make the host of the candidate known: links lead to many more hosts out of scope than in it.
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

// enqueue enters a candidate as a task: it can be claimed at once, since the place of its text is known.
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

func (f *Frontier) mark(p frontier.Fingerprint) {
	f.seen.Add(p)
	f.groups.open.prints = append(f.groups.open.prints, p)
}

// Options.MaxSize is compared with the high-water mark of the file and an estimate of the uncommitted groups.
// Free pages count: the file does not become shorter. Beyond the mark the file may be longer by one step of growth, at
// most a 64th of MaxSize: see growth.
//
// When only the reserve is left, no turn is given. From then on the file takes the results of the turns that are out,
// once each: per task an ending of 8 bytes or a retry of about 40; per turn a state of 40, a robots state or memory,
// some hundred bytes as a rule and 12 KiB at most, now and then the body of a robots.txt, a few KiB. 32 KiB are ten
// times that, for each of 256 turns. A commit rewrites some 30 pages before the old ones are free, and the sweeper
// moves twice the bytes written: another part is for several of those, and for Close. The last is for low estimates.
// Links may use half of the reserve. Nothing else is ever dropped: a file that is a little too long is better than a
// wasted fetch. Without room for the whole folded journal, no fold takes place. The reserve does not depend on
// the turns that are out, so that a full frontier is full when it is opened again.

const (
	reservePages  = 512 << 10      // for the pages that commits rewrite
	reserveLeases = 256 * 32 << 10 // for the turns that are out
)

// reserve returns the bytes that are left when no turn is given. No part is more than an eighth of a small maxSize.
func reserve(maxSize int64) int64 {
	return min(reservePages, maxSize/8) + min(reserveLeases, maxSize/8) + maxSize/16
}

// textBytes estimates the stored size of a candidate's text: zstd packs URLs to a third or a quarter, random ones to
// three quarters.
func textBytes(c *frontier.Candidate) int64 {
	return 8 + int64(len(c.URL.RequestURI())+len(c.Via))/2
}

// caps checks whether there is room: for a candidate, by the caps of the options, and for a turn, by the size of the
// file. The caps on URLs count all that became tasks in this crawl, closed or not.
type caps struct {
	options  frontier.Options
	hosts    *hosts
	groups   *groups
	waiting  *waiters
	accepted int64 // entries of all records
	size     int64 // bytes of the file, up to its high-water mark
	full     bool  // no turn is given until the file is opened again; see checkSize
	tight    bool  // no turn is given until the next commit; see checkSize
}

// capReason returns the reason why a cap leaves no room for c, empty when there is room. It tries the caps in the order
// of their reasons in package frontier. The caller calls checkSize afterwards.
func (cs *caps) capReason(c *frontier.Candidate) string {
	o := &cs.options
	if o.MaxSize > 0 && cs.bytes()+textBytes(c) > o.MaxSize-reserve(o.MaxSize)/2 {
		cs.full = true // from now on the crawl would lose the links that it finds
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

// domainFull reports whether the registrable domain of c is full. h is its host, nil when unknown.
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

// bytes returns the size of the file with the estimate of the uncommitted groups.
func (cs *caps) bytes() int64 {
	n := cs.size
	for g := range cs.groups.all() {
		n += g.bytes + 8*int64(len(g.prints)+len(g.done)) + 48*int64(len(g.dirty))
	}
	return n
}

// checkSize stops turns when only the reserve is left. An estimate may be too high: it stops turns only until the next
// commit, which is then urgent, has shown the size of the file. A file within a 64th of MaxSize before the reserve
// stops them for this opening: it would otherwise approach the reserve in smaller and smaller steps.
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
