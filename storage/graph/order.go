package graph

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"curtsy/storage/sorted"
)

// Graph puts what was gathered in order. The Builder is done with.
func (b *Builder) Graph(ctx context.Context) (_ *Graph, err error) {
	defer func() { err = errors.Join(err, b.Close()) }()
	for i := range b.recent {
		b.evict(&b.recent[i])
	}
	if b.err != nil {
		return nil, b.err
	}
	g := &Graph{
		Level: b.o.Level, Counts: b.counts, order: b.known.count, notes: b.notes,
		names: b.names, edges: sorted.New(b.o.Dir, b.o.memory()/2),
		in: make([]uint32, b.known.count), out: make([]uint32, b.known.count),
	}
	b.known, b.hosts, b.sites, b.names = numbers{}, numbers{}, nil, nil
	number, err := g.numbered(ctx)
	if err == nil {
		err = b.connect(ctx, g, number)
	}
	if err == nil {
		err = g.measure(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// numbered returns the numbers of the vertices by provisional number.
func (g *Graph) numbered(ctx context.Context) (number []uint32, err error) {
	number = make([]uint32, g.order)
	next := uint32(0)
	for name, err := range g.names.All() {
		if err != nil {
			return nil, fmt.Errorf("graph: sort the vertices: %w", err)
		}
		_, first := cutNumber(name)
		number[first] = next
		if err := asked(ctx, int(next)); err != nil {
			return nil, err
		}
		next++
	}
	return number, nil
}

// asked asks ctx now and then.
func asked(ctx context.Context, n int) error {
	if n&0xffff == 0 {
		return ctx.Err()
	}
	return nil
}

// connect sorts the pairs under their numbers.
func (b *Builder) connect(ctx context.Context, g *Graph, number []uint32) error {
	in := bufio.NewReaderSize(b.pairs.Section(), 64<<10)
	var piece [pairSize]byte
	for n := 0; ; n++ {
		if _, err := io.ReadFull(in, piece[:]); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("graph: read the links: %w", err)
		}
		p := readPair(piece[:])
		p.key = uint64(number[p.key>>32])<<32 | uint64(number[uint32(p.key)])
		if err := g.edges.Add(p.append(piece[:0])); err != nil {
			return fmt.Errorf("graph: sort the edges: %w", err)
		}
		if err := asked(ctx, n); err != nil {
			return err
		}
	}
	return b.pairs.Close() // its room on the disk is needed
}

// measure counts the edges.
func (g *Graph) measure(ctx context.Context) error {
	for e, err := range g.Edges() {
		if err == nil {
			err = asked(ctx, int(g.size))
		}
		if err != nil {
			return err
		}
		g.out[e.From]++
		g.in[e.To]++
		g.size++
	}
	return nil
}

// numbers gives each fingerprint the number that it was first met with: open addressing, 12 bytes a slot. Zero is no
// fingerprint.
type numbers struct {
	keys  []uint64
	vals  []uint32
	count int
}

const firstSlots = 1 << 10

// get returns the number of a fingerprint.
func (n *numbers) get(key uint64) (uint32, bool) {
	if n.count == 0 {
		return 0, false
	}
	i := n.slot(key)
	return n.vals[i], n.keys[i] != 0
}

// put adds a fingerprint that is not there.
func (n *numbers) put(key uint64, val uint32) {
	if n.count >= len(n.keys)/4*3 {
		n.grow()
	}
	i := n.slot(key)
	n.keys[i], n.vals[i] = key, val
	n.count++
}

// slot is the place of key, or the free one where it belongs.
func (n *numbers) slot(key uint64) int {
	mask := len(n.keys) - 1
	i := int(key>>(64-bits.Len(uint(mask)))) & mask
	for n.keys[i] != 0 && n.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

func (n *numbers) grow() {
	keys, vals := n.keys, n.vals
	size := max(2*len(keys), firstSlots)
	n.keys, n.vals = make([]uint64, size), make([]uint32, size)
	for i, key := range keys {
		if key != 0 {
			at := n.slot(key)
			n.keys[at], n.vals[at] = key, vals[i]
		}
	}
}
