package graph

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
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

// The parts of a document in GraphML 1.0 (http://graphml.graphdrawing.org/specification.html). Only domains have hosts.
const (
	graphHead = `<?xml version="1.0" encoding="UTF-8"?>
<!-- ` + Mark + ` -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="in_degree" for="node" attr.name="in_degree" attr.type="long"/>
<key id="out_degree" for="node" attr.name="out_degree" attr.type="long"/>
<key id="fetched" for="node" attr.name="fetched" attr.type="boolean"/>
%s<key id="weight" for="edge" attr.name="weight" attr.type="long"/>
<graph id="%s" edgedefault="directed">
<desc>Links between %[2]s: %d vertices, %d edges.</desc>
`
	graphHosts = `<key id="hosts" for="node" attr.name="hosts" attr.type="long"/>
`
	graphNode = `<node id="n%d"><data key="label">%s</data><data key="in_degree">%d</data><data key="out_degree">%d</data><data key="fetched">%t</data>%s</node>
`
	graphEdge = `<edge source="n%d" target="n%d"><data key="weight">%d</data></edge>
`
)

// GraphML writes the graph as GraphML.
func (d *Document) GraphML(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10) // which keeps its first error
	hosts := ""
	if d.Level == Domains {
		hosts = graphHosts
	}
	fmt.Fprintf(out, graphHead, hosts, d.Level, d.Graph.Order(), d.Graph.Size())
	ins, outs := d.Graph.In(), d.Graph.Out()
	for v, err := range d.Graph.Vertices() {
		if d.Level == Domains {
			hosts = fmt.Sprintf(`<data key="hosts">%d</data>`, v.Hosts)
		}
		if err == nil {
			_, err = fmt.Fprintf(out, graphNode, v.ID, xmlText(v.Name), ins[v.ID], outs[v.ID], v.Fetched, hosts)
		}
		if err != nil {
			return err
		}
	}
	for e, err := range d.Graph.Edges() {
		if err == nil {
			_, err = fmt.Fprintf(out, graphEdge, e.From, e.To, e.Weight)
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprint(out, "</graph>\n</graphml>\n")
	return out.Flush()
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// xmlText is s with what XML 1.0 cannot hold as percent escapes, and with what is markup in XML escaped.
func xmlText(s string) string {
	var b strings.Builder
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r < ' ', r >= 0x7f && r < 0xa0, r == utf8.RuneError && size == 1, r == 0x2028, r == 0x2029, r&0xfffe == 0xfffe:
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		default:
			b.WriteRune(r)
		}
	}
	return markup.Replace(b.String())
}
