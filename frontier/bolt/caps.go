package bolt

import (
	"curtsy/frontier"
)

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
