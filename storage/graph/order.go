package graph

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

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
		Level: b.o.Level, Counts: b.counts, order: len(b.known), notes: b.notes,
		names: b.names, edges: sorted.New(b.o.Dir, b.o.memory()/2),
		in: make([]uint32, len(b.known)), out: make([]uint32, len(b.known)),
	}
	b.known, b.hosts, b.sites, b.names = nil, nil, nil, nil
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
