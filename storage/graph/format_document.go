package graph

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"unicode/utf8"

	"curtsy/frontier/durable"
	"curtsy/storage/tables"
)

// Name is the name of the format.
const Name = "graphml"

// Mark stands near the beginning of each file, so that it is known as ours.
const Mark = "made by curtsy export"

// File returns the name of the file of a graph.
func File(level Level) string { return level.String() + "." + Name }

// source is a graph. *graph.Graph is one.
type source interface {
	Order() int
	Size() int64
	In() []uint32
	Out() []uint32
	Vertices() iter.Seq2[Vertex, error]
	Edges() iter.Seq2[Edge, error]
}

// Document is a graph that is to be written.
type Document struct {
	Level Level
	Graph source
}

// Write writes the GraphML file into dir, and returns its path.
func (d *Document) Write(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, File(d.Level))
	if err := durable.File(path, func(w io.Writer) error { return d.GraphML(asking{ctx, w}) }); err != nil {
		return "", fmt.Errorf("format: %w", err)
	}
	return path, nil
}

// asking is a writer that ends when its context does.
type asking struct {
	ctx context.Context //nolint:containedctx // it is that of one call of Write
	w   io.Writer
}

func (a asking) Write(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	return a.w.Write(p)
}

// page is a writer that keeps its first error.
type page struct {
	out *bufio.Writer
	b   []byte // what is being put together
}

func newPage(w io.Writer) *page { return &page{out: bufio.NewWriterSize(w, 64<<10)} }

// write writes b and makes it ready for what comes next.
func (p *page) write() error {
	_, err := p.out.Write(p.b)
	p.b = p.b[:0]
	return err
}

func (p *page) text(s string) { p.b = append(p.b, s...) }

// VertexRows gives the rows of the table of vertices.
func (d *Document) VertexRows(to func(tables.Row) error) error {
	in, out := d.Graph.In(), d.Graph.Out()
	for v, err := range d.Graph.Vertices() {
		if err != nil {
			return err
		}
		hosts := tables.Null()
		if d.Level == Domains {
			hosts = tables.Long(v.Hosts)
		}
		err := to(tables.Row{
			tables.Long(int64(v.ID)), tables.Text(v.Name), tables.Text(v.Reversed), tables.Flag(v.Fetched),
			tables.Long(int64(in[v.ID])), tables.Long(int64(out[v.ID])), hosts,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// EdgeRows gives the rows of the table of edges.
func (d *Document) EdgeRows(to func(tables.Row) error) error {
	for e, err := range d.Graph.Edges() {
		if err == nil {
			err = to(tables.Row{tables.Long(int64(e.From)), tables.Long(int64(e.To)), tables.Long(int64(e.Weight))})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plainText appends s with what XML 1.0 cannot hold as percent escapes, and escapes what is markup in XML.
func plainText(b []byte, s string) []byte {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r < ' ', r >= 0x7f && r < 0xa0, r == utf8.RuneError && size == 1, r == 0x2028, r == 0x2029, r&0xfffe == 0xfffe:
			for _, c := range []byte(s[i : i+size]) {
				b = append(b, '%', hex[c>>4], hex[c&15])
			}
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r == '"':
			b = append(b, "&quot;"...)
		default:
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return b
}

const hex = "0123456789ABCDEF"
