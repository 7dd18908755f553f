package hostmap

import (
	"errors"
	"fmt"
	"iter"
)

var errOrder = errors.New("hostmap: the entries are not in the order of their keys, or one is there twice")

// Root is the root of the map of entries that come in the order of their keys, and how many they are. It keeps no more
// than a path. An error is one of the entries.
func Root(sorted iter.Seq2[Entry, error]) (root Hash, n int64, err error) {
	var b builder
	for e, err := range sorted {
		if err != nil {
			return Hash{}, 0, err
		}
		if err := b.add(e.Key, leaf(e.Key, e.value())); err != nil {
			return Hash{}, 0, err
		}
		n++
	}
	return b.root(), n, nil
}

// builder makes the root of a range of keys below one node, which lies at the depth base.
type builder struct {
	base    int
	pending []placed // what waits for its sibling, the upper ones first
	key     Hash     // of the entry that was added last
	last    Hash     // its leaf; it has no place before the next key is known
	left    int      // how many bits it shares with the one before; base without one
	full    bool     // there is such an entry
}

type placed struct {
	hash  Hash
	depth int
}

// add takes the next leaf.
func (b *builder) add(key, leaf Hash) error {
	if !b.full {
		b.key, b.last, b.left, b.full = key, leaf, b.base-1, true
		return nil
	}
	right := shared(b.key, key)
	if right == 8*len(key) || bit(b.key, right) {
		return errOrder
	}
	if right < b.base {
		return fmt.Errorf("hostmap: keys of two ranges")
	}
	b.settle(max(b.left, right)+1, right+1)
	b.key, b.last, b.left = key, leaf, right
	return nil
}

// settle places the last leaf at a depth, and carries it up to the depth to, joined with what waits there.
func (b *builder) settle(depth, to int) {
	h := b.last
	for ; depth > to; depth-- {
		var beside Hash
		if n := len(b.pending); n > 0 && bit(b.key, depth-1) && b.pending[n-1].depth == depth {
			beside = b.pending[n-1].hash
			b.pending = b.pending[:n-1]
		}
		h = up(b.key, depth, h, beside)
	}
	b.pending = append(b.pending, placed{h, depth})
}

// root ends the range.
func (b *builder) root() Hash {
	if !b.full {
		return Hash{}
	}
	b.settle(max(b.left+1, b.base), b.base)
	return b.pending[0].hash
}
