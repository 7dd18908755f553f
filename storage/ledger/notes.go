package ledger

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

// notes are the checkpoints of a ledger that is checked.
type notes struct {
	dir    string
	sizes  []int64          // of those in their folder that were not met yet, ascending
	latest *checkpoint.Note // of the file of the latest; nil without one
	bad    error            // why that cannot be read
	last   int64            // the largest size

	leaves tlog.HashReader // over the tiles, by the largest checkpoint; nil without one
	torn   error           // why not
	from   int64           // index of the first of some
	some   []tlog.Hash     // that were read at once

	widest string // the file among the tiles that needs the largest tree, when the lines were not read yet
	needs  int64  // the size of that tree
}

// tileFolder is where package tree has its tiles.
const tileFolder = "tile"

// leafBatch is how many hashes are read from the tiles at once: one of them.
const leafBatch = 256

func (n *notes) open(dir string) (err error) {
	n.dir = dir
	if n.sizes, err = Checkpoints(dir); err != nil {
		return err
	}
	if n.latest, err = ReadNote(filepath.Join(dir, CheckpointName)); err != nil {
		n.latest, n.bad = nil, err
	}
	if n.widest, n.needs, err = tree.Widest(dir); err != nil {
		return err
	}
	of, err := latest(dir)
	if err != nil || of.Size == 0 {
		return nil // for the lines to say
	}
	n.last = of.Size
	if _, err := os.Stat(filepath.Join(dir, tileFolder)); isMissing(err) { // they follow from the lines
		return nil
	}
	r := tree.Reader(dir, of.Size, of.Root)
	if _, n.torn = r.ReadHashes([]int64{tlog.StoredHashIndex(0, of.Size-1)}); n.torn == nil {
		n.leaves = r
	}
	return nil
}

// leaf is the entry hash that the largest checkpoint has for an index.
func (n *notes) leaf(index int64) (h tlog.Hash, known bool) {
	if n.leaves == nil || index >= n.last {
		return h, false
	}
	if index < n.from || index >= n.from+int64(len(n.some)) {
		n.from = index / leafBatch * leafBatch
		var at []int64
		for i := n.from; i < min(n.from+leafBatch, n.last); i++ {
			at = append(at, tlog.StoredHashIndex(0, i))
		}
		if n.some, n.torn = n.leaves.ReadHashes(at); n.torn != nil {
			n.leaves, n.some = nil, nil
			return h, false
		}
	}
	return n.some[index-n.from], true
}

// checkpoint checks those that end with the line just taken, which m is if it is a mark.
func (c *checker) checkpoint(m *Mark) {
	n := &c.notes
	met := false
	for len(n.sizes) > 0 && n.sizes[0] <= c.index {
		size := n.sizes[0]
		n.sizes = n.sizes[1:]
		note, err := ReadNote(CheckpointPath(c.dir, size))
		if err == nil && note.Size != size {
			err = fmt.Errorf("%s is of %d entries", CheckpointPath(c.dir, size), note.Size)
		}
		switch {
		case err != nil:
			c.say(BadNote, "%v", err)
		case size == c.index:
			c.note(note, m)
			met = true
		case size == 0:
			c.say(BadNote, "%s is of no entry", CheckpointPath(c.dir, size))
		}
	}
	if n.latest != nil && n.latest.Size == c.index {
		if !met {
			c.note(n.latest, m)
			met = true
		} else if other, err := ReadNote(CheckpointPath(c.dir, c.index)); err == nil && other.Checkpoint != n.latest.Checkpoint {
			c.note(n.latest, m)
		}
	}
	if met {
		c.after = 0
	} else if c.after++; c.after == 1 {
		c.at = Problem{Segment: c.segment, Row: c.row, Index: c.index - 1}
	}
}

// note checks one.
func (c *checker) note(n *checkpoint.Note, m *Mark) {
	if m == nil || m.Kind != KindHosts {
		c.say(MapDiffers, "the checkpoint of %d entries does not end in a mark of hosts", n.Size)
	}
	if n.Origin != c.origin {
		c.say(WrongOrigin, "the checkpoint of %d entries is of the log %.80q, not of %.80q", n.Size, n.Origin, c.origin)
	}
	key := c.runs.key
	_, claimed := n.Claimed(key)
	switch {
	case key.IsZero() && c.runs.any && len(n.Signatures) == 0:
	case key.IsZero():
		// cosignatures may stand under it
	case !claimed:
		c.say(BadSig, "the checkpoint of %d entries is not signed by the key of its run, %s", n.Size, key.Name())
	case !n.SignedBy(key):
		c.say(BadSig, "the signature of the checkpoint of %d entries is not by %s", n.Size, key.Name())
	}
	switch root := c.tree.Root(); {
	case c.lost:
		// said where the lines were lost
	case root != n.Root:
		c.say(RootDiffers, "the lines lead to the root %s, and the checkpoint of %d entries states %s: some line since the "+
			"checkpoint before was changed, or the checkpoint is of another ledger", root, n.Size, n.Root)
		c.gap, c.lost = true, true
	}
}

// end says which checkpoints, and which tiles, are of lines that are not there.
func (n *notes) end(c *checker) {
	at := c.index - 1 // lines there are
	largest := int64(0)
	if len(n.sizes) > 0 {
		largest = n.sizes[len(n.sizes)-1]
	}
	if n.latest != nil {
		largest = max(largest, n.latest.Size)
	}
	if largest > at {
		c.say(Rollback, "there is a checkpoint of %d entries, and there are %d: lines were cut off the end, or never reached "+
			"the disk", largest, at)
	}
	if n.needs > max(at, largest, n.last) { // lines are durable before their tiles are written
		c.say(BadTiles, "%s is not a tile of the %d lines", n.widest, at)
	}
	if n.bad != nil && !isMissing(n.bad) { // a kill may come before the file of the latest is written
		c.say(BadNote, "the latest checkpoint: %v", n.bad)
	}
}
