package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"curtsy/storage/sorted"
)

// Graph is a directed graph on disk. One goroutine at a time reads it.
type Graph struct {
	Level  Level
	Counts Counts

	order   int
	size    int64
	in, out []uint32
	notes   []note         // by provisional number
	names   *sorted.Sorter // as Builder.names
	edges   *sorted.Sorter // pairs of numbers, as pair.append writes them; some stand there more than once
}

// Vertex is a vertex with its number and names.
type Vertex struct {
	ID       uint32
	Name     string // the URL, host or domain
	Reversed string // the same with the labels of its host reversed; of a page its URL
	Hosts    int64  // of Domains: how many hosts of it were met
	Fetched  bool   // something of it was fetched, and not only linked to (Builder.Vertex)
}

// Edge is an edge between two vertices, by their numbers.
type Edge struct {
	From, To uint32
	Weight   uint32 // links that the edge stands for; the most means that many, or more
}

// Order is the number of vertices.
func (g *Graph) Order() int { return g.order }

// Size is the number of edges.
func (g *Graph) Size() int64 { return g.size }

// In is how many edges lead to each vertex. The caller must not change it.
func (g *Graph) In() []uint32 { return g.in }

// Out is how many edges each vertex has. The caller must not change it.
func (g *Graph) Out() []uint32 { return g.out }

// Close frees memory and disk.
func (g *Graph) Close() error { return errors.Join(g.names.Close(), g.edges.Close()) }

// Vertices are all vertices in their order. An error is the last.
func (g *Graph) Vertices() iter.Seq2[Vertex, error] {
	return func(yield func(Vertex, error) bool) {
		n := uint32(0)
		for name, err := range g.names.All() {
			if err != nil {
				yield(Vertex{}, fmt.Errorf("graph: read the vertices: %w", err))
				return
			}
			key, first := cutNumber(name)
			if !yield(vertex(n, string(key), g.notes[first]), nil) {
				return
			}
			n++
		}
	}
}

// cutNumber takes the provisional number off a name.
func cutNumber(name []byte) (key []byte, first uint32) {
	end := len(name) - 4
	return name[:end-len(endKey)], binary.BigEndian.Uint32(name[end:])
}

func vertex(n uint32, key string, known note) Vertex {
	v := Vertex{ID: n, Reversed: key, Hosts: int64(known / oneHost), Fetched: known&isFetched != 0}
	if _, url, ok := strings.Cut(key, inKey); ok {
		v.Name, v.Reversed = url, url
	} else {
		v.Name = Reverse(key)
	}
	return v
}

// Edges are all edges, in the order of their sources, then of their targets. An error is the last.
func (g *Graph) Edges() iter.Seq2[Edge, error] {
	return func(yield func(Edge, error) bool) {
		var last pair
		give := func() bool {
			return last.count == 0 || yield(Edge{uint32(last.key >> 32), uint32(last.key), last.count}, nil)
		}
		for piece, err := range g.edges.All() {
			if err != nil {
				yield(Edge{}, fmt.Errorf("graph: read the edges: %w", err))
				return
			}
			p := readPair(piece)
			if p.key == last.key && last.count > 0 {
				last.count = uint32(min(uint64(last.count)+uint64(p.count), math.MaxUint32))
				continue
			}
			if !give() {
				return
			}
			last = p
		}
		give()
	}
}
