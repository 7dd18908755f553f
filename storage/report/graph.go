package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"curtsy/storage/graph"
)

// Bounds of a Top.
const (
	MaxVertices = 200
	MaxEdges    = 800
)

// Top is the part of a graph with the most linked hosts.
type Top struct {
	Vertices []Vertex `json:"top"`          // by in-degree, highest first
	Edges    []Edge   `json:"links_of_top"` // by weight, heaviest first
	More     int64    `json:"more_of_top"`  // further edges between the vertices
}

type Vertex struct {
	Name    string `json:"host"`
	In      uint32 `json:"in_degree"`
	Out     uint32 `json:"out_degree"`
	ID      uint32 `json:"-"`     // in its graph
	Fetched bool   `json:"asked"` // it has a fetched page, and not only links to it
}

// Edge is an edge of a Top, between indexes of Vertices.
type Edge struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Weight uint32 `json:"links"`
}

// source is implemented by *graph.Graph.
type source interface {
	In() []uint32
	Out() []uint32
	Vertices() iter.Seq2[graph.Vertex, error]
	Edges() iter.Seq2[graph.Edge, error]
}

// TopOf picks the MaxVertices vertices of the highest in-degrees, and of the edges between them MaxEdges: the heaviest to
// each vertex, then the heaviest of all. Equal ones keep the graph's order.
func TopOf(g source) (Top, error) {
	var t Top
	in := g.In()
	ids := make([]uint32, len(in))
	for id := range ids {
		ids[id] = uint32(id)
	}
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Or(cmp.Compare(in[b], in[a]), cmp.Compare(a, b)) })
	ids = ids[:min(len(ids), MaxVertices)]
	place := map[uint32]int{}
	for i, id := range ids {
		place[id] = i
		t.Vertices = append(t.Vertices, Vertex{In: in[id], Out: g.Out()[id], ID: id})
	}
	for v, err := range g.Vertices() {
		if err != nil {
			return t, err
		}
		if i, ok := place[v.ID]; ok {
			t.Vertices[i].Name, t.Vertices[i].Fetched = v.Name, v.Fetched
		}
	}
	all := []Edge{}
	for e, err := range g.Edges() {
		if err != nil {
			return t, err
		}
		from, ok := place[e.From]
		if to, is := place[e.To]; ok && is {
			all = append(all, Edge{from, to, e.Weight})
		}
	}
	t.Edges = heaviest(all, len(ids))
	t.More = int64(len(all) - len(t.Edges))
	return t, nil
}

// heaviest sorts all and picks MaxEdges, among them the heaviest to each of n vertices.
func heaviest(all []Edge, n int) []Edge {
	byWeight := func(a, b Edge) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	}
	slices.SortFunc(all, byWeight)
	if len(all) <= MaxEdges {
		return all
	}
	led := make([]bool, n)
	var first, rest []Edge
	for _, e := range all {
		if led[e.To] {
			rest = append(rest, e)
			continue
		}
		led[e.To] = true
		first = append(first, e)
	}
	picked := append(first, rest[:MaxEdges-len(first)]...)
	slices.SortFunc(picked, byWeight)
	return picked
}

// HostGraph sums up the links between hosts in the archive. Hosts are names, at all their ports, requested or not.
type HostGraph struct {
	Hosts   int64 `json:"hosts"`
	Edges   int64 `json:"edges"`          // pairs of hosts with links from one to the other
	Links   int64 `json:"links"`          // of pages, also those within a host
	Within  int64 `json:"links_within"`   // a host
	LeftOut int64 `json:"links_left_out"` // over the limit of hosts

	Top
}

// Bounds of a report's graph: some 60 bytes of memory a host.
const (
	graphHosts  = 1 << 20
	graphMemory = 16 << 20
)

// connect adds the graph of hosts, if there are several.
func (r *Report) connect(ctx context.Context, o Options) (err error) {
	if !o.Graph || o.Host != "" || r.Reached < 2 {
		return nil
	}
	g, err := graph.ArchivedGraph(ctx, graph.Options{Memory: graphMemory, MaxVertices: graphHosts}, o.WARC)
	if err != nil {
		return fmt.Errorf("report: read the links: %w", err)
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if g.Size() == 0 {
		return nil
	}
	top, err := TopOf(g)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	r.Graph = &HostGraph{
		Hosts: int64(g.Order()), Edges: g.Size(), Links: g.Counts.Links, Within: g.Counts.Within, LeftOut: g.Counts.LeftOut,
		Top: top,
	}
	for i := range top.Vertices {
		top.Vertices[i].Name = clean(top.Vertices[i].Name)
	}
	return nil
}

// shownRanks is the number of hosts that the page lists by in-degree.
const shownRanks = 20

// First returns the hosts that the page lists.
func (g *HostGraph) First() []Vertex { return g.Vertices[:min(len(g.Vertices), shownRanks)] }
