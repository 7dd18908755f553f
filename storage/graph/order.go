package graph

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
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
		Level: b.o.Level, Counts: b.counts, order: b.known.count,
		names: newWritten(b.o.Dir), edges: newWritten(b.o.Dir),
		in: make([]uint32, b.known.count), out: make([]uint32, b.known.count),
	}
	b.known, b.hosts, b.sites = numbers{}, numbers{}, nil
	number, err := b.numbered(ctx, g)
	if err == nil {
		err = b.connect(ctx, g, number)
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, errors.Join(g.names.flush(), g.edges.flush())
}

// numbered sorts the keys, writes the vertices in their order, and returns their numbers by provisional number.
func (b *Builder) numbered(ctx context.Context, g *Graph) (number []uint32, err error) {
	s := sorted.New(b.o.Dir, b.o.memory())
	defer func() { err = errors.Join(err, s.Close()) }()
	in, err := b.names.reader(64 << 10)
	if err != nil {
		return nil, err
	}
	var key []byte
	for n := range uint32(g.order) {
		if key, err = readKey(in, key); err != nil {
			return nil, err
		}
		key = binary.BigEndian.AppendUint32(append(key, endKey...), n)
		if err := s.Add(key); err != nil {
			return nil, fmt.Errorf("graph: sort the vertices: %w", err)
		}
		if err := asked(ctx, int(n)); err != nil {
			return nil, err
		}
	}
	number = make([]uint32, g.order)
	next := uint32(0)
	for key, err := range s.All() {
		if err != nil {
			return nil, fmt.Errorf("graph: sort the vertices: %w", err)
		}
		name := key[:len(key)-len(endKey)-4]
		first := binary.BigEndian.Uint32(key[len(name)+len(endKey):])
		number[first] = next
		piece := append(binary.AppendUvarint(g.names.free(), uint64(len(name))), name...)
		if err := g.names.write(binary.AppendUvarint(piece, uint64(b.notes[first]))); err != nil {
			return nil, err
		}
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

// maxKey is far beyond the length of a canonical URL.
const maxKey = 64 << 20

// readKey reads a key into b, which may move.
func readKey(in *bufio.Reader, b []byte) ([]byte, error) {
	length, err := binary.ReadUvarint(in)
	if err == nil && length > maxKey {
		err = errors.New("a name is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("graph: read a name: %w", err)
	}
	if uint64(cap(b)) < length+uint64(len(endKey))+4 {
		b = make([]byte, 0, length+length/2+64)
	}
	b = b[:length]
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, fmt.Errorf("graph: read a name: %w", err)
	}
	return b, nil
}

// connect sorts the pairs under their numbers, and writes the edges.
func (b *Builder) connect(ctx context.Context, g *Graph, number []uint32) (err error) {
	s := sorted.New(b.o.Dir, b.o.memory())
	defer func() { err = errors.Join(err, s.Close()) }()
	in, err := b.pairs.reader(64 << 10)
	if err != nil {
		return err
	}
	var piece [pairSize]byte
	for n := 0; ; n++ {
		if _, err := io.ReadFull(in, piece[:]); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("graph: read the links: %w", err)
		}
		p := readPair(piece[:])
		p.key = uint64(number[p.key>>32])<<32 | uint64(number[uint32(p.key)])
		if err := s.Add(p.append(piece[:0])); err != nil {
			return fmt.Errorf("graph: sort the edges: %w", err)
		}
		if err := asked(ctx, n); err != nil {
			return err
		}
	}
	if err := b.pairs.close(); err != nil { // its room on the disk is needed
		return fmt.Errorf("graph: %w", err)
	}
	w := rowWriter{g: g}
	var last pair
	for piece, err := range s.All() {
		if err != nil {
			return fmt.Errorf("graph: sort the edges: %w", err)
		}
		p := readPair(piece)
		if p.key == last.key && last.count > 0 {
			last.count = uint32(min(uint64(last.count)+uint64(p.count), math.MaxUint32))
			continue
		}
		if err := w.add(last); err != nil {
			return err
		}
		if err := asked(ctx, int(g.size)); err != nil {
			return err
		}
		last = p
	}
	return errors.Join(w.add(last), w.end())
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
