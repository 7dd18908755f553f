package graph

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"curtsy/frontier/durable"
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
	Rows() iter.Seq2[Row, error]
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
