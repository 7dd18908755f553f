package witness

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

var emptyRoot = new(tree.Growing).Root()

// A View is what somebody shows of a log: a checkpoint and, of whoever has the entries too, the root of each tree up to
// it.
type View struct {
	Note *checkpoint.Note
	Root func(size int64) (tlog.Hash, error) // nil if there is the note alone
}

// Relation is how two views stand to each other.
type Relation string

// The relations of a view to another.
const (
	Equal     Relation = "equal"     // one tree
	Continued Relation = "continued" // the second continues the first
	Continues Relation = "continues" // the first continues the second
	Fork      Relation = "fork"      // neither does: two histories under one name
	Otherwise Relation = "other-log" // two origins: nothing to compare
	Unknown   Relation = "unknown"   // the longer one is a note alone, and proves nothing of the shorter
)

// A Verdict says how two views stand to each other. Common is how many entries both have, where both tell: up to there
// the histories are one.
type Verdict struct {
	Relation Relation
	Common   int64 // -1 if it is not known
}

// Relate compares two views. It checks no signatures: who signed the notes is evidence of its own.
func Relate(a, b View) (Verdict, error) {
	switch {
	case a.Note.Origin != b.Note.Origin:
		return Verdict{Otherwise, -1}, nil
	case a.Note.Size > b.Note.Size:
		v, err := Relate(b, a)
		if v.Relation == Continued {
			v.Relation = Continues
		}
		return v, err
	}
	root, size := b.Note.Root, a.Note.Size
	if size < b.Note.Size {
		switch {
		case size == 0 && a.Note.Root == emptyRoot:
			return Verdict{Continued, 0}, nil
		case b.Root == nil:
			return Verdict{Unknown, -1}, nil
		}
		var err error
		if root, err = b.Root(size); err != nil {
			return Verdict{}, fmt.Errorf("witness: compare: %w", err)
		}
	}
	switch {
	case root != a.Note.Root:
		return forked(a, b)
	case size == b.Note.Size:
		return Verdict{Equal, size}, nil
	}
	return Verdict{Continued, size}, nil
}

// forked looks for the place where two views part: the roots are one up to it, and never again behind it.
func forked(a, b View) (Verdict, error) {
	if a.Root == nil || b.Root == nil {
		return Verdict{Fork, -1}, nil
	}
	same, differ := int64(0), a.Note.Size
	for differ-same > 1 {
		mid := same + (differ-same)/2
		ra, err := a.Root(mid)
		if err != nil {
			return Verdict{}, fmt.Errorf("witness: compare: %w", err)
		}
		rb, err := b.Root(mid)
		if err != nil {
			return Verdict{}, fmt.Errorf("witness: compare: %w", err)
		}
		if ra == rb {
			same = mid
		} else {
			differ = mid
		}
	}
	return Verdict{Fork, same}, nil
}

// A Cosigner is a witness that cosigned a checkpoint, and when it says that it did.
type Cosigner struct {
	Key checkpoint.Key
	At  time.Time
}

// Cosigners are those of the known witnesses that cosigned n, the earliest first. Cosignatures that claim to be by one of
// them and are not count for nothing, as do those of others. Each witness counts once, with its latest cosignature.
func Cosigners(n *checkpoint.Note, known []checkpoint.Key) (all []Cosigner) {
	for _, k := range known {
		at, ok := n.Cosigned(k)
		if ok && !slices.ContainsFunc(all, func(c Cosigner) bool { return c.Key == k }) {
			all = append(all, Cosigner{k, at})
		}
	}
	slices.SortStableFunc(all, func(a, b Cosigner) int { return a.At.Compare(b.At) })
	return all
}
