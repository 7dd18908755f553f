package graph

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/sorted"
	"curtsy/storage/spool"
	"curtsy/storage/warc"
)

// Options say what graph is made.
type Options struct {
	Level Level

	Dir string // for temporary files; empty means the system's folder for them

	// Memory is how many bytes sorting holds. Zero means 64 MiB.
	Memory int

	// MaxVertices is how many vertices there may be. Zero means 100 million.
	MaxVertices int
}

func (o *Options) memory() int {
	if o.Memory > 0 {
		return o.Memory
	}
	return 64 << 20
}

func (o *Options) maxVertices() int {
	if o.MaxVertices > 0 {
		return min(o.MaxVertices, math.MaxUint32-1)
	}
	return 100_000_000
}

// Counts say what became of the links that a Builder was given: each is an edge's, or one of the others.
type Counts struct {
	Links   int64 // all
	Within  int64 // from a vertex to itself
	NoURL   int64 // with a source or target that is no URL of a host, such as mailto:
	LeftOut int64 // with a source or target beyond MaxVertices
}

// Builder gathers links. It is used by one goroutine, and done with after Graph or Close.
type Builder struct {
	o      Options
	counts Counts
	seed   maphash.Seed
	err    error

	known map[uint64]uint32 // fingerprint of a key → its provisional number, in the order in which they were met
	names *sorted.Sorter    // keys, each with its provisional number behind endKey
	sites map[string]met
	hosts map[uint64]struct{} // of Domains: fingerprints of hosts
	notes []note              // by provisional number

	recent [recentPairs]pair
	pairs  spool.Spool // of provisional numbers, as pair.append writes them
	buf    []byte
}

// note is what is known of a vertex beside its name: how many hosts it has, twice, and 1 if it was fetched.
type note uint32

const (
	isFetched note = 1
	oneHost   note = 2
)

// met is what became of a name.
type met struct {
	number uint32
	state  state
}

type state uint8

const (
	isVertex state = iota
	isNoURL
	isLeftOut
)

// maxSites is how many sites are remembered with their vertex, so that most links need no parser.
const maxSites = 1 << 14

// pair is links from one vertex to another.
type pair struct {
	key   uint64 // from << 32 | to
	count uint32 // zero: none
}

// recentPairs is how many pairs are counted in memory before they are written: the links of a page go to few hosts.
const recentPairs = 1 << 14

const pairSize = 12

func (p pair) append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, p.key), p.count)
}

func readPair(b []byte) pair {
	return pair{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])}
}

// New returns a Builder.
func New(o Options) *Builder {
	return &Builder{
		o: o, seed: maphash.MakeSeed(), known: map[uint64]uint32{}, hosts: map[uint64]struct{}{}, names: sorted.New(o.Dir, o.memory()/2), sites: map[string]met{},
		pairs: spool.Spool{Dir: o.Dir, Pattern: "curtsy-graph-*"},
	}
}

// Vertex makes sure that the graph has the vertex of a URL, with edges or without, and notes that something of it was
// fetched.
func (b *Builder) Vertex(url string) error {
	if m := b.find(url); m.state == isVertex {
		b.notes[m.number] |= isFetched
	}
	return b.err
}

// Link adds a link between two absolute URLs. One that is no URL of a host is counted. An error is one of the disk, and
// final.
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
	b.link(uint64(from.number)<<32 | uint64(to.number))
	return b.err
}

// link counts a link among the recent pairs. Another pair in its slot is written.
func (b *Builder) link(key uint64) {
	slot := &b.recent[key*0x9e3779b97f4a7c15>>(64-14)]
	if slot.key == key && slot.count > 0 && slot.count < math.MaxUint32 {
		slot.count++
		return
	}
	b.evict(slot)
	*slot = pair{key, 1}
}

func (b *Builder) evict(slot *pair) {
	if slot.count == 0 || b.err != nil {
		return
	}
	b.buf = slot.append(b.buf[:0])
	if _, err := b.pairs.Write(b.buf); err != nil {
		b.err = fmt.Errorf("graph: %w", err)
	}
	slot.count = 0
}

// find is the vertex of a URL, which is added when it is new. Only the site of a URL counts, unless vertices are pages:
// whether its path can be parsed must not depend on what came before.
func (b *Builder) find(url string) met {
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
	b.sites[strings.Clone(site)] = m // the URL may be a part of a large text
	return m
}

func (b *Builder) parse(url string) met {
	u, err := canon.Parse(url)
	if err != nil || u.Host() == "" {
		return met{state: isNoURL}
	}
	p := placeOf(b.o.Level, u)
	m := b.number(p.key)
	if p.host == "" || m.state != isVertex {
		return m
	}
	f := b.fingerprint(p.host)
	if _, met := b.hosts[f]; !met {
		b.hosts[f] = struct{}{}
		b.notes[m.number] += oneHost
	}
	return m
}

// number is the vertex of a key.
func (b *Builder) number(key string) met {
	f := b.fingerprint(key)
	if n, ok := b.known[f]; ok {
		return met{number: n}
	}
	if len(b.known) >= b.o.maxVertices() {
		return met{state: isLeftOut}
	}
	n := uint32(len(b.known))
	if b.err == nil {
		if err := b.names.Add(binary.BigEndian.AppendUint32([]byte(key+endKey), n)); err != nil {
			b.err = fmt.Errorf("graph: %w", err)
		}
	}
	b.known[f] = n
	b.notes = append(b.notes, 0)
	return met{number: n}
}

func (b *Builder) fingerprint(s string) uint64 { return max(maphash.String(b.seed, s), 1) }

// Close frees memory and disk. It does nothing after Graph.
func (b *Builder) Close() error {
	b.known, b.hosts, b.sites, b.notes = nil, nil, nil, nil
	if b.names == nil {
		return b.pairs.Close()
	}
	return errors.Join(b.names.Close(), b.pairs.Close())
}

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

// taker takes links. *graph.Builder is one.
type taker interface {
	Vertex(url string) error // a page that was fetched
	Link(source, target string) error
}

// Links gives the links of the archive in the folder dir to take, and returns how many pages it has. A folder that is not
// there has none.
//
// Links of an archive come from its metadata records. Links, redirects and page requisites are links alike, as they are
// to Common Crawl. A page that was fetched in several generations has its links once for each. The archive has
// warc.MaxOutlinks of a page's links at most.
//
// The archive is read from one end to the other, in memory that does not depend on it. A segment that is being written is
// read as far as it goes. Damage is passed over: judging an archive is for others.
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

// ArchivedGraph makes the graph of the archives in those folders.
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
