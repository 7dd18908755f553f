package hostmap

import (
	"errors"
	"fmt"
	"iter"
)

// Proof leads from the place of a key to the root of a map.
type Proof struct {
	Siblings []Hash // the hashes beside the path, from the root down
	Other    *Other // of an absent host: the one entry of the range that the path ends in; nil for an empty range
}

// Other is the entry of another host, as far as a proof tells it.
type Other struct {
	Key   Hash
	Value Hash // the hash of what the map has under its key
}

// MaxSiblings is the longest path.
const MaxSiblings = 256

// Prove goes through the entries of a map, which come in the order of their keys, and returns the entry of key and the
// proof of it, or without an entry, that there is none.
func Prove(sorted iter.Seq2[Entry, error], key Hash) (p Proof, entry *Entry, err error) {
	f := finder{key: key, beside: map[int]group{}, at: -1}
	for e, err := range sorted {
		if err != nil {
			return Proof{}, nil, err
		}
		if err := f.add(e); err != nil {
			return Proof{}, nil, err
		}
	}
	f.close()
	p = f.proof()
	return p, f.found, nil
}

// finder gathers what lies beside the path to a key. Keys that share the same number of bits with it come one after the
// other, and make up one sibling.
type finder struct {
	key    Hash
	beside map[int]group // by the number of bits shared
	at     int           // the group that is being built; -1 for none
	built  builder
	first  Other
	count  int
	found  *Entry
	before *Hash
}

type group struct {
	root  Hash
	only  Other // the first of its entries
	count int
}

func (f *finder) add(e Entry) error {
	if f.before != nil && Compare(Entry{Key: *f.before}, e) >= 0 {
		return errOrder
	}
	f.before = &e.Key
	if e.Key == f.key {
		f.close()
		f.found = &e
		return nil
	}
	n := shared(f.key, e.Key)
	value := e.value()
	if n != f.at {
		f.close()
		f.at, f.built, f.first, f.count = n, builder{base: n + 1}, Other{e.Key, value}, 0
	}
	f.count++
	return f.built.add(e.Key, leaf(e.Key, value))
}

// close ends the group that is being built.
func (f *finder) close() {
	if f.at >= 0 {
		f.beside[f.at] = group{f.built.root(), f.first, f.count}
	}
	f.at = -1
}

// proof lays the siblings along the path.
func (f *finder) proof() (p Proof) {
	deepest, second := -1, -1
	for n := range f.beside {
		if n > deepest {
			deepest, second = n, deepest
		} else if n > second {
			second = n
		}
	}
	depth := deepest + 1
	// A range with one entry has no halves: the path of an absent key ends at it.
	if f.found == nil && deepest >= 0 && f.beside[deepest].count == 1 {
		of := f.beside[deepest].only
		p.Other, depth = &of, second+1
	}
	for n := range depth {
		p.Siblings = append(p.Siblings, f.beside[n].root)
	}
	return p
}

// ErrProof says that a proof does not lead to the root of the map.
var ErrProof = errors.New("the proof does not lead to the root of the map of hosts")

// Check checks that the map with that root has the entry e under a key, or with a nil e, that it has none.
func Check(root, key Hash, e *Entry, p Proof) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("hostmap: %w: %s", ErrProof, fmt.Sprintf(format, args...))
	}
	if len(p.Siblings) > MaxSiblings {
		return bad("it has %d siblings, more than %d", len(p.Siblings), MaxSiblings)
	}
	var h Hash
	switch {
	case e != nil && p.Other != nil:
		return bad("it is of an absent host")
	case e != nil && e.Key != key:
		return bad("it is of another host")
	case e != nil:
		h = leaf(key, e.value())
	case p.Other != nil && (p.Other.Key == key || shared(p.Other.Key, key) < len(p.Siblings)):
		return bad("the other entry does not lie where the path ends")
	case p.Other != nil:
		h = leaf(p.Other.Key, p.Other.Value)
	}
	for depth := len(p.Siblings); depth > 0; depth-- {
		h = up(key, depth, h, p.Siblings[depth-1])
	}
	if h != root {
		return bad("it leads to %s, not to %s", h, root)
	}
	return nil
}
