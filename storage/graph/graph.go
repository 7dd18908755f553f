package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Graph is a directed graph on disk. It may be read by several goroutines at once.
type Graph struct {
	Level  Level
	Counts Counts

	order   int
	size    int64
	in, out []uint32
	names   *written // keys in their order, each with its note
	edges   *written // rows
}

// Vertex is a vertex with its number and names.
type Vertex struct {
	ID       uint32
	Name     string // the URL, host or domain
	Reversed string // the same with the labels of its host reversed; of a page its URL
	Hosts    int64  // of Domains: how many hosts of it were met
	Fetched  bool   // something of it was fetched, and not only linked to (Builder.Vertex)
}

// Row is edges of one vertex, in the order of where they lead. A vertex with more than maxRow has several rows. The
// slices are those of the next row, too.
type Row struct {
	From   uint32
	To     []uint32
	Weight []uint32 // links that the edge stands for; the most means that many, or more
}

// maxRow bounds a row, and so the memory of its readers.
const maxRow = 1024

// Order is the number of vertices.
func (g *Graph) Order() int { return g.order }

// Size is the number of edges.
func (g *Graph) Size() int64 { return g.size }

// In is how many edges lead to each vertex. The caller must not change it.
func (g *Graph) In() []uint32 { return g.in }

// Out is how many edges each vertex has. The caller must not change it.
func (g *Graph) Out() []uint32 { return g.out }

// Close frees memory and disk.
func (g *Graph) Close() error {
	return errors.Join(g.names.close(), g.edges.close())
}

// Vertices are all vertices in their order. An error is the last.
func (g *Graph) Vertices() iter.Seq2[Vertex, error] {
	return func(yield func(Vertex, error) bool) {
		in, err := g.names.reader(64 << 10)
		if err != nil {
			yield(Vertex{}, err)
			return
		}
		var key []byte
		for n := range uint32(g.order) {
			if key, err = readKey(in, key); err != nil {
				yield(Vertex{}, err)
				return
			}
			known, err := binary.ReadUvarint(in)
			if err != nil {
				yield(Vertex{}, fmt.Errorf("graph: read the vertices: %w", err))
				return
			}
			if !yield(vertex(n, string(key), note(known)), nil) {
				return
			}
		}
	}
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

// A row on disk is its source, as the difference from the row before, and its length, then that many targets, each as
// the difference from the one before, and as many weights. All are varints.

// rowWriter writes the rows of a graph.
type rowWriter struct {
	g    *Graph
	row  Row
	last uint32 // source of the row before
}

// add adds links that are in order. A pair of no links is none.
func (w *rowWriter) add(p pair) error {
	if p.count == 0 {
		return nil
	}
	from, to := uint32(p.key>>32), uint32(p.key)
	if from != w.row.From || len(w.row.To) == maxRow {
		if err := w.end(); err != nil {
			return err
		}
	}
	w.row.From = from
	w.row.To, w.row.Weight = append(w.row.To, to), append(w.row.Weight, p.count)
	w.g.out[from]++
	w.g.in[to]++
	w.g.size++
	return nil
}

// end writes the row.
func (w *rowWriter) end() error {
	if len(w.row.To) == 0 {
		return nil
	}
	b := binary.AppendUvarint(w.g.edges.free(), uint64(w.row.From-w.last))
	b = binary.AppendUvarint(b, uint64(len(w.row.To)))
	before := uint32(0)
	for _, to := range w.row.To {
		b = binary.AppendUvarint(b, uint64(to-before))
		before = to
	}
	for _, weight := range w.row.Weight {
		b = binary.AppendUvarint(b, uint64(weight))
	}
	w.last = w.row.From
	w.row.To, w.row.Weight = w.row.To[:0], w.row.Weight[:0]
	return w.g.edges.write(b)
}

// rowSize is the most bytes that a row has on disk.
const rowSize = (2 + 2*maxRow) * binary.MaxVarintLen32

var errRow = errors.New("graph: read the edges: a row is malformed")

// Rows are all edges, in the order of their sources. An error is the last.
func (g *Graph) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in, err := g.edges.reader(128 << 10)
		if err != nil {
			yield(Row{}, err)
			return
		}
		row := Row{To: make([]uint32, 0, maxRow), Weight: make([]uint32, 0, maxRow)}
		for {
			b, err := in.Peek(rowSize)
			if len(b) == 0 && errors.Is(err, io.EOF) {
				return
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Row{}, fmt.Errorf("graph: read the edges: %w", err))
				return
			}
			n, ok := row.read(b)
			if !ok {
				yield(Row{}, errRow)
				return
			}
			if _, err := in.Discard(n); err != nil {
				yield(Row{}, fmt.Errorf("graph: read the edges: %w", err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// read reads the row that b begins with, and returns its size.
func (r *Row) read(b []byte) (size int, ok bool) {
	var head [2]uint64
	for i := range head {
		v, n := binary.Uvarint(b[size:])
		if n <= 0 {
			return 0, false
		}
		head[i] = v
		size += n
	}
	if head[1] > maxRow {
		return 0, false
	}
	r.From += uint32(head[0])
	r.To, r.Weight = r.To[:head[1]], r.Weight[:head[1]]
	for _, list := range [...][]uint32{r.To, r.Weight} {
		for i := range list {
			v, n := binary.Uvarint(b[size:])
			if n <= 0 {
				return 0, false
			}
			list[i] = uint32(v)
			size += n
		}
	}
	for i := 1; i < len(r.To); i++ {
		r.To[i] += r.To[i-1]
	}
	return size, true
}
