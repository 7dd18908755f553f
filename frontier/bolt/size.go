package bolt

import (
	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// Options.MaxSize is held against the high-water mark of the file, with what the groups that are not committed will add.
// Pages that are free again count: the file does not become shorter. The mark is what is used of the file; beyond it the
// file may be longer by what it grows at a time, a 64th of MaxSize at most: see growth.
//
// The reserve
//
// When what is left is the reserve, no turn is given any more. What is written from then on is what the turns that are
// out bring, once each: per task an ending of 8 octets or a retry of about 40; per turn a state of 40, a robots state or
// memory, some hundred octets as a rule and 12 KiB at most, now and then the body of a robots.txt, a few KiB. 32 KiB
// are ten times that, and there is so much for each of 256 turns. A commit writes some 30 pages anew before the old ones
// are free, and the sweeper moves twice what is written: another part is for several of those, and for Close. The last is
// for what has been estimated too low. Links may use half of the reserve. Nothing else is ever dropped: should the
// reserve not suffice, a file that is a little too long is better than a page fetched in vain. Folding, which needs room
// for the whole folded journal, does not take place when there is not that much left. The reserve does not depend on
// what is out, so that a frontier that was full is full when it is opened again.

const (
	reservePages  = 512 << 10      // for the pages that commits rewrite
	reserveLeases = 256 * 32 << 10 // for the turns that are out
)

// reserve returns what is left of a size when no turn is given any more. Of a small one no part is more than an eighth.
func reserve(maxSize int64) int64 {
	return min(reservePages, maxSize/8) + min(reserveLeases, maxSize/8) + maxSize/16
}

// octets returns what the file takes, with what the next groups will add. The caller holds mu.
func (f *Frontier) octets() int64 {
	n := f.size
	for _, g := range f.queue {
		n += g.weight()
	}
	if f.open != nil {
		n += f.open.weight()
	}
	return n
}

// weight returns what g will add to the file, roughly.
func (g *group) weight() int64 {
	return g.octets + 8*int64(len(g.prints)+len(g.done)) + 48*int64(len(g.dirty))
}

// textOctets returns what the text of a candidate takes, roughly: zstd packs URLs to a third or a quarter, random ones
// to three quarters.
func textOctets(c *frontier.Candidate) int64 {
	return 8 + int64(len(c.URL.RequestURI())+len(c.Via))/2
}

// keep puts a cell into the group.
func (g *group) keep(c *layout.StateRecord) {
	g.cells = append(g.cells, c)
	g.octets += int64(len(c.Data)) + 8
}

// keepBlobs puts bodies into the group.
func (g *group) keepBlobs(bs []layout.Blob) {
	for _, b := range bs {
		g.octets += int64(len(b.Body)) + 64
	}
	g.blobs = append(g.blobs, bs...)
}

// gauge looks whether the file is full but for the reserve. An estimate that says so may be too high: it stops turns
// only until the commit of what is on its way, which is then urgent, has shown how large the file is. The last 64th is
// not approached in ever smaller steps. The caller holds mu.
func (f *Frontier) gauge() {
	most := f.options.MaxSize
	if most == 0 || f.readOnly {
		return
	}
	left := most - reserve(most)
	was := f.tight
	f.full = f.full || f.size+most/64 >= left
	if f.tight = f.octets() >= left; f.tight {
		f.last()
	}
	if f.full || was && !f.tight {
		f.wakeAll()
	}
}

// mayFold reports whether a fold leaves a file of that size within its bound: as runs, each word takes at most its three
// octets and its number, and as much again for what is pending after it; a record without words takes three.
func (w *writer) mayFold(maxSize int64) bool {
	if maxSize == 0 {
		return true
	}
	most := 8*(w.folded+w.unfolded) + 3*int64(len(w.sizes))
	return w.size+most+most/8+reservePages <= maxSize
}
