package graph

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"iter"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/sorted"
	"curtsy/storage/spool"
	"curtsy/storage/tables"
	"curtsy/storage/warc"
)

// Graph is a directed graph on disk. Only one goroutine at a time may read it.
type Graph struct {
	Level  Level
	Counts Counts

	order   int
	size    int64
	in, out []uint32
	notes   []note         // by provisional number
	names   *sorted.Sorter // as Builder.names
	edges   *sorted.Sorter // pairs of numbers as of appendPair, one for each link
}

type Vertex struct {
	ID       uint32
	Name     string // the URL, host or domain
	Reversed string // the name with the labels of its host reversed; for a page its URL
	Hosts    int64  // of Domains: its number of hosts
	Fetched  bool   // something of it was fetched (Builder.Vertex)
}

// Edge is an edge between two vertices by their IDs.
type Edge struct {
	From, To uint32
	Weight   uint32 // number of links, at most math.MaxUint32
}

// Order returns the number of vertices.
func (g *Graph) Order() int { return g.order }

// Size returns the number of edges.
func (g *Graph) Size() int64 { return g.size }

// In returns the number of edges to each vertex. The caller must not change the slice.
func (g *Graph) In() []uint32 { return g.in }

// Out returns the number of edges from each vertex. The caller must not change the slice.
func (g *Graph) Out() []uint32 { return g.out }

// Close releases memory and files.
func (g *Graph) Close() error { return errors.Join(g.names.Close(), g.edges.Close()) }

// Vertices returns all vertices in order. An error is the last.
func (g *Graph) Vertices() iter.Seq2[Vertex, error] {
	return func(yield func(Vertex, error) bool) {
		n := uint32(0)
		for name, err := range g.names.All() {
			if err != nil {
				yield(Vertex{}, fmt.Errorf("graph: read the vertices: %w", err))
				return
			}
			key, first := cutNumber(name)
			known := g.notes[first]
			v := Vertex{ID: n, Reversed: string(key), Hosts: int64(known / oneHost), Fetched: known&isFetched != 0}
			if _, url, ok := strings.Cut(v.Reversed, inKey); ok {
				v.Name, v.Reversed = url, url
			} else {
				v.Name = Reverse(v.Reversed)
			}
			if !yield(v, nil) {
				return
			}
			n++
		}
	}
}

func cutNumber(name []byte) (key []byte, first uint32) {
	end := len(name) - 4
	return name[:end-len(endKey)], binary.BigEndian.Uint32(name[end:])
}

// Edges returns all edges by source, then by target. An error is the last.
func (g *Graph) Edges() iter.Seq2[Edge, error] {
	return func(yield func(Edge, error) bool) {
		var last Edge // none without a weight
		for piece, err := range g.edges.All() {
			if err != nil {
				yield(Edge{}, fmt.Errorf("graph: read the edges: %w", err))
				return
			}
			e := Edge{binary.BigEndian.Uint32(piece), binary.BigEndian.Uint32(piece[4:]), 1}
			switch {
			case last.Weight > 0 && last.From == e.From && last.To == e.To:
				last.Weight += min(1, math.MaxUint32-last.Weight)
				continue
			case last.Weight > 0 && !yield(last, nil):
				return
			}
			last = e
		}
		if last.Weight > 0 {
			yield(last, nil)
		}
	}
}

// Level is the kind of a graph's vertices.
type Level uint8

const (
	Hosts   Level = iota // a host name or address, at all its ports
	Pages                // a canonical URL
	Domains              // a registrable domain, with all its hosts
)

var levels = [...]string{Hosts: "hosts", Pages: "pages", Domains: "domains"}

// String returns the name of the level for ParseLevel.
func (l Level) String() string {
	if int(l) < len(levels) {
		return levels[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// ParseLevel parses pages, hosts or domains.
func ParseLevel(s string) (Level, error) {
	if i := slices.Index(levels[:], s); i >= 0 {
		return Level(i), nil
	}
	return 0, fmt.Errorf("graph: %q is not a level; it is pages, hosts or domains", s)
}

// Reverse reverses the labels of a host name: www.example.org becomes org.example.www. An address stays as it is, so that
// Reverse is its own inverse.
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

// A key is a sortable name of a vertex: the reversed host, and for a page inKey and its URL. Canonical names have no byte
// below space, so keys sort by host first.
const (
	inKey  = "\x01" // between host and URL
	endKey = "\x00" // after a key with a number
)

// siteOf returns the part of a URL that determines its host, up to the path; ok is false if only a parser can.
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

// Mark is near the beginning of each file, to recognise its origin.
const Mark = "made by curtsy export"

// File returns the name of the file of a graph.
func File(level Level) string { return level.String() + "." + Name }

// source is implemented by *graph.Graph.
type source interface {
	Order() int
	Size() int64
	In() []uint32
	Out() []uint32
	Vertices() iter.Seq2[Vertex, error]
	Edges() iter.Seq2[Edge, error]
}

// Document is a graph to be written.
type Document struct {
	Level Level
	Graph source
}

// Write writes the GraphML file into dir, and returns its path.
func (d *Document) Write(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, File(d.Level))
	if err := durable.File(path, func(w io.Writer) error { return d.GraphML(cancelable{ctx, w}) }); err != nil {
		return "", fmt.Errorf("format: %w", err)
	}
	return path, nil
}

// cancelable is a writer that fails once its context is done.
type cancelable struct {
	ctx context.Context //nolint:containedctx // of one call of Write
	w   io.Writer
}

func (a cancelable) Write(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	return a.w.Write(p)
}

// VertexRows calls to with the rows of the table of vertices.
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

// EdgeRows calls to with the rows of the table of edges.
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
	out := bufio.NewWriterSize(w, 64<<10) // keeps its first error
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

// xmlText escapes s for XML, with percent escapes for characters that XML 1.0 cannot represent.
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

// Options configure a Builder.
type Options struct {
	Level       Level
	Dir         string // for temporary files; empty means the system's directory
	Memory      int    // bytes for sorting. Zero means 64 MiB.
	MaxVertices int    // zero means 100 million
}

// Counts classify the links of a Builder; all others are edges.
type Counts struct {
	Links   int64 // all
	Within  int64 // from a vertex to itself
	NoURL   int64 // with a source or target that is not a URL with a host, such as mailto:
	LeftOut int64 // with a source or target beyond MaxVertices
}

// Builder collects links in one goroutine. Graph or Close ends it.
type Builder struct {
	o      Options
	counts Counts
	seed   maphash.Seed
	err    error

	known map[uint64]uint32 // provisional number, in order of first mention, by fingerprint of the key
	names *sorted.Sorter    // keys with endKey and their provisional number
	sites map[string]vertex
	hosts map[uint64]struct{} // of Domains: fingerprints of hosts
	notes []note              // by provisional number

	pairs spool.Spool // of provisional numbers, as of appendPair
	buf   []byte
}

// note is the data of a vertex beside its name: twice its number of hosts, plus 1 if it was fetched.
type note uint32

const (
	isFetched note = 1
	oneHost   note = 2
)

type vertex struct {
	number uint32
	state  state
}

type state uint8

const (
	isVertex state = iota
	isNoURL
	isLeftOut
)

// maxSites bounds the cache of sites with their vertex, which saves parsing most links.
const maxSites = 1 << 14

const pairSize = 8

// appendPair appends the numbers of two vertices, source first.
func appendPair(b []byte, from, to uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, from), to)
}

func New(o Options) *Builder {
	o.Memory = cmp.Or(max(o.Memory, 0), 64<<20)
	o.MaxVertices = min(cmp.Or(max(o.MaxVertices, 0), 100_000_000), math.MaxUint32-1)
	return &Builder{
		o: o, seed: maphash.MakeSeed(), known: map[uint64]uint32{}, hosts: map[uint64]struct{}{}, names: sorted.New(o.Dir, o.Memory/2), sites: map[string]vertex{},
		pairs: spool.Spool{Dir: o.Dir, Pattern: "curtsy-graph-*"},
	}
}

// Vertex adds the vertex of a fetched URL.
func (b *Builder) Vertex(url string) error {
	if m := b.find(url); m.state == isVertex {
		b.notes[m.number] |= isFetched
	}
	return b.err
}

// Link adds a link between two absolute URLs, or counts one without a host. An error is one of the disk, and final.
func (b *Builder) Link(source, target string) error {
	from, to := b.find(source), b.find(target)
	if b.err != nil {
		return b.err
	}
	b.counts.Links++
	switch {
	case from.state == isNoURL || to.state == isNoURL:
		b.counts.NoURL++
		return nil
	case from.state == isLeftOut || to.state == isLeftOut:
		b.counts.LeftOut++
		return nil
	case from.number == to.number:
		b.counts.Within++
		return nil
	}
	b.buf = appendPair(b.buf[:0], from.number, to.number)
	if _, err := b.pairs.Write(b.buf); err != nil {
		b.err = fmt.Errorf("graph: %w", err)
	}
	return b.err
}

// find returns the vertex of a URL and adds a new one. Unless vertices are pages, only the site of a URL counts: the
// result must not depend on whether an earlier path could be parsed.
func (b *Builder) find(url string) vertex {
	if b.o.Level == Pages {
		return b.parse(url)
	}
	site, ok := siteOf(url)
	if !ok {
		return b.parse(url)
	}
	if m, ok := b.sites[site]; ok {
		return m
	}
	m := b.parse(site + "/")
	if len(b.sites) >= maxSites {
		clear(b.sites)
	}
	b.sites[strings.Clone(site)] = m // the URL may be part of a large string
	return m
}

func (b *Builder) parse(url string) vertex {
	u, err := canon.Parse(url)
	if err != nil || u.Host() == "" {
		return vertex{state: isNoURL}
	}
	host := u.Host()
	switch b.o.Level {
	case Pages:
		return b.number(Reverse(host) + inKey + u.String())
	case Hosts:
		return b.number(Reverse(host))
	}
	m := b.number(Reverse(u.RegistrableDomain()))
	if m.state != isVertex {
		return m
	}
	f := b.fingerprint(host)
	if _, known := b.hosts[f]; !known {
		b.hosts[f] = struct{}{}
		b.notes[m.number] += oneHost
	}
	return m
}

func (b *Builder) number(key string) vertex {
	f := b.fingerprint(key)
	if n, ok := b.known[f]; ok {
		return vertex{number: n}
	}
	if len(b.known) >= b.o.MaxVertices {
		return vertex{state: isLeftOut}
	}
	n := uint32(len(b.known))
	if b.err == nil {
		if err := b.names.Add(binary.BigEndian.AppendUint32([]byte(key+endKey), n)); err != nil {
			b.err = fmt.Errorf("graph: %w", err)
		}
	}
	b.known[f] = n
	b.notes = append(b.notes, 0)
	return vertex{number: n}
}

func (b *Builder) fingerprint(s string) uint64 { return max(maphash.String(b.seed, s), 1) }

// Close releases memory and files. It does nothing after Graph.
func (b *Builder) Close() error {
	b.known, b.hosts, b.sites, b.notes = nil, nil, nil, nil
	if b.names == nil {
		return b.pairs.Close()
	}
	return errors.Join(b.names.Close(), b.pairs.Close())
}

// Graph sorts the links into a graph and ends the Builder.
func (b *Builder) Graph(ctx context.Context) (_ *Graph, err error) {
	defer func() { err = errors.Join(err, b.Close()) }()
	if b.err != nil {
		return nil, b.err
	}
	g := &Graph{
		Level: b.o.Level, Counts: b.counts, order: len(b.known), notes: b.notes,
		names: b.names, edges: sorted.New(b.o.Dir, b.o.Memory/2),
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

func (g *Graph) numbered(ctx context.Context) (number []uint32, err error) {
	number = make([]uint32, g.order)
	next := uint32(0)
	for name, err := range g.names.All() {
		if err != nil {
			return nil, fmt.Errorf("graph: sort the vertices: %w", err)
		}
		_, first := cutNumber(name)
		number[first] = next
		if err := checkDone(ctx, int(next)); err != nil {
			return nil, err
		}
		next++
	}
	return number, nil
}

func checkDone(ctx context.Context, n int) error {
	if n&0xffff == 0 {
		return ctx.Err()
	}
	return nil
}

func (b *Builder) connect(ctx context.Context, g *Graph, number []uint32) error {
	in := bufio.NewReaderSize(b.pairs.Section(), 64<<10)
	var piece [pairSize]byte
	for n := 0; ; n++ {
		if _, err := io.ReadFull(in, piece[:]); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("graph: read the links: %w", err)
		}
		from, to := binary.BigEndian.Uint32(piece[:]), binary.BigEndian.Uint32(piece[4:])
		if err := g.edges.Add(appendPair(piece[:0], number[from], number[to])); err != nil {
			return fmt.Errorf("graph: sort the edges: %w", err)
		}
		if err := checkDone(ctx, n); err != nil {
			return err
		}
	}
	return b.pairs.Close() // frees disk space
}

func (g *Graph) measure(ctx context.Context) error {
	for e, err := range g.Edges() {
		if err == nil {
			err = checkDone(ctx, int(g.size))
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

// taker is implemented by *graph.Builder.
type taker interface {
	Vertex(url string) error // a fetched page
	Link(source, target string) error
}

// Links passes the links of the archive in dir to take, and returns its number of pages, 0 for a missing directory.
//
// It reads the whole archive's metadata records in bounded memory, an open segment up to its end, and skips damage.
// Links, redirects and page requisites are links alike, as for Common Crawl. A page fetched in several generations has
// its links once for each. The archive has at most warc.MaxOutlinks links of a page.
func Links(ctx context.Context, dir string, take taker) (pages int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("archived: %w", err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".open"); e.IsDir() || !strings.HasSuffix(name, ".warc.gz") {
			continue
		}
		n, err := segment(ctx, filepath.Join(dir, e.Name()), take)
		pages += n
		if err != nil {
			return pages, err
		}
	}
	return pages, nil
}

// ArchivedGraph makes the graph of the archives in dirs.
func ArchivedGraph(ctx context.Context, o Options, dirs ...string) (*Graph, error) {
	b := New(o)
	for _, dir := range dirs {
		if _, err := Links(ctx, dir, b); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b.Graph(ctx)
}

func segment(ctx context.Context, path string, take taker) (pages int64, err error) {
	f, err := warc.OpenListed(path, durable.Open)
	if err != nil {
		return 0, fmt.Errorf("archived: %w", err)
	}
	defer f.Close()
	for l := warc.NewLenient(meter.Reader(ctx, f), nil); ; {
		if err := ctx.Err(); err != nil {
			return pages, err
		}
		rec, err := l.Next()
		if errors.Is(err, io.EOF) {
			return pages, nil
		}
		if err != nil {
			return pages, fmt.Errorf("archived: %s: %w", filepath.Base(path), err)
		}
		if rec.Type != "metadata" || rec.TargetURI() == "" {
			continue
		}
		line, links, err := rec.Metadata()
		if line.Decision == storage.DecisionRobots || err != nil && len(links) == 0 {
			continue
		}
		pages++
		if err := take.Vertex(rec.TargetURI()); err != nil {
			return pages, err
		}
		for _, l := range links {
			if err := take.Link(rec.TargetURI(), l.URL); err != nil {
				return pages, err
			}
		}
	}
}
