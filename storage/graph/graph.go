package graph

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage/sorted"
	"curtsy/storage/tables"
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

// Level is what a vertex stands for.
type Level uint8

// Levels.
const (
	Hosts   Level = iota // a host name or address, at all its ports
	Pages                // a canonical URL
	Domains              // a registrable domain, with all its hosts
)

var levels = [...]string{Hosts: "hosts", Pages: "pages", Domains: "domains"}

// String is the name of the level, which ParseLevel reads.
func (l Level) String() string {
	if int(l) < len(levels) {
		return levels[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// ParseLevel reads pages, hosts or domains.
func ParseLevel(s string) (Level, error) {
	if i := slices.Index(levels[:], s); i >= 0 {
		return Level(i), nil
	}
	return 0, fmt.Errorf("graph: %q is not a level; it is pages, hosts or domains", s)
}

// Reverse turns the labels of a host name round: www.example.org is org.example.www. An address stays as it is, and so
// what Reverse gives can be reversed again.
func Reverse(host string) string {
	if host == "" || host[0] == '[' {
		return host
	}
	if c := host[0]; c >= '0' && c <= '9' {
		if _, err := netip.ParseAddr(host); err == nil {
			return host
		}
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// A key is the name of a vertex as it is sorted: the reversed host, and for a page behind inKey its URL. No canonical
// name has a byte below space, so keys sort by host first.
const (
	inKey  = "\x01" // between host and URL
	endKey = "\x00" // behind a key, where something follows
)

// place is what is known of a URL at a level: the key of its vertex, and the host if that is counted.
type place struct {
	key  string
	host string // of Domains
}

func placeOf(level Level, u canon.URL) place {
	switch level {
	case Pages:
		return place{key: Reverse(u.Host()) + inKey + u.String()}
	case Domains:
		return place{key: Reverse(u.RegistrableDomain()), host: u.Host()}
	}
	return place{key: Reverse(u.Host())}
}

// siteOf is the part of a URL that decides on its host, up to the path. ok is false for spellings that only a parser
// understands.
func siteOf(url string) (site string, ok bool) {
	at := strings.Index(url, "://")
	if at < 0 {
		return "", false
	}
	if end := strings.IndexAny(url[at+3:], `/?#\`); end >= 0 {
		return url[:at+3+end], end > 0
	}
	return url, true
}

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
