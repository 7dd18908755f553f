package format

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

	"curtsy/frontier/durable"
	"curtsy/storage/graph"
	"curtsy/storage/graph/measure"
)

// Names are the formats.
var Names = []string{"graphml", "gexf", "webgraph"}

// Mark stands near the beginning of each file, so that it is known as ours.
const Mark = "made by curtsy export"

// Files are the names of the files of a format.
func Files(name string, level graph.Level) []string {
	switch name {
	case "graphml", "gexf":
		return []string{level.String() + "." + name}
	case "webgraph":
		return []string{level.String() + "-vertices.txt.gz", level.String() + "-edges.txt.gz", level.String() + "-ranks.txt.gz"}
	}
	return nil
}

// Source is a graph. *graph.Graph is one.
type Source interface {
	Order() int
	Size() int64
	In() []uint32
	Out() []uint32
	Vertices() iter.Seq2[graph.Vertex, error]
	Rows() iter.Seq2[graph.Row, error]
}

// Document is a graph with its measures, to be written.
type Document struct {
	Level    graph.Level
	Graph    Source
	PageRank []float64
	Harmonic measure.Harmonic
	Dir      string // for temporary files; empty means the system's folder for them
}

// Measure makes the document of a graph.
func Measure(ctx context.Context, g *graph.Graph, o measure.Options) (*Document, error) {
	rank, _, err := measure.PageRank(ctx, g, o)
	if err != nil {
		return nil, err
	}
	h, err := measure.HarmonicOf(ctx, g, o)
	if err != nil {
		return nil, err
	}
	return &Document{Level: g.Level, Graph: g, PageRank: rank, Harmonic: h}, nil
}

// Write writes the files of a format into dir, and returns their paths.
func (d *Document) Write(ctx context.Context, dir, name string) (paths []string, err error) {
	writers := map[string][]func(io.Writer) error{
		"graphml": {d.GraphML}, "gexf": {d.GEXF}, "webgraph": {zipped(d.Vertices), zipped(d.Edges), zipped(d.Ranks)},
	}[name]
	if writers == nil {
		return nil, fmt.Errorf("format: %q is no format of graphs; those are %v", name, Names)
	}
	for i, file := range Files(name, d.Level) {
		path := filepath.Join(dir, file)
		if err := durable.File(path, func(w io.Writer) error { return writers[i](asking{ctx, w}) }); err != nil {
			return paths, fmt.Errorf("format: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
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

// zipped is write with gzip around it.
func zipped(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z := gzip.NewWriter(w)
		z.Comment = Mark
		if err := write(z); err != nil {
			return err
		}
		return z.Close()
	}
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
