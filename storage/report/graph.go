package report

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"curtsy/storage/graph"
	"curtsy/storage/graph/archived"
	"curtsy/storage/graph/measure"
	"curtsy/storage/graph/picture"
)

// HostGraph is who links to whom, by the archive. Hosts are names, at all their ports, whether they were asked or not.
type HostGraph struct {
	Hosts   int64 `json:"hosts"`
	Edges   int64 `json:"edges"`          // pairs of hosts, the one of which links to the other
	Links   int64 `json:"links"`          // of pages, those within a host among them
	Within  int64 `json:"links_within"`   // a host
	LeftOut int64 `json:"links_left_out"` // because there are too many hosts

	// HarmonicError is zero when harmonic centrality is exact, else the relative standard deviation of what it is
	// estimated from.
	HarmonicError float64 `json:"harmonic_error"`

	Top   []RankedHost `json:"top"`          // by PageRank
	Drawn []HostLink   `json:"links_of_top"` // between those, the heaviest
	More  int64        `json:"more_of_top"`  // pairs beside those
}

// RankedHost is a host with its measures.
type RankedHost struct {
	Host     string  `json:"host"`
	PageRank float64 `json:"pagerank"`
	Harmonic float64 `json:"harmonic"`
	In       uint32  `json:"in_degree"`
	Out      uint32  `json:"out_degree"`
	Asked    bool    `json:"asked"` // or else it is only linked to
}

// HostLink is that a host links to another; both are places in Top.
type HostLink struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Links uint32 `json:"links"`
}

// Bounds of what the graph of a report takes: some 80 bytes of memory a host, and the counters beside.
const (
	graphHosts  = 1 << 20
	graphMemory = 64 << 20
)

// connect adds the graph of hosts. A crawl of one host has none to show.
func (r *Report) connect(ctx context.Context, o Options) (err error) {
	if !o.Graph || o.Host != "" || r.Reached < 2 {
		return nil
	}
	g, err := archived.Graph(ctx, graph.Options{Memory: graphMemory / 4, MaxVertices: graphHosts}, o.WARC)
	if err != nil {
		return fmt.Errorf("report: read the links: %w", err)
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if g.Size() == 0 {
		return nil
	}
	rank, _, err := measure.PageRank(ctx, g, measure.Options{})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	harmonic, err := measure.HarmonicOf(ctx, g, measure.Options{Memory: graphMemory})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	top, err := picture.TopOf(g, rank)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	r.Graph = &HostGraph{
		Hosts: int64(g.Order()), Edges: g.Size(), Links: g.Counts.Links, Within: g.Counts.Within, LeftOut: g.Counts.LeftOut,
		HarmonicError: harmonic.Error, More: int64(top.More), Drawn: []HostLink{},
	}
	for _, v := range top.Vertices {
		r.Graph.Top = append(r.Graph.Top, RankedHost{clean(v.Name), v.Rank, harmonic.Values[v.ID], v.In, v.Out, v.Fetched})
	}
	for _, e := range top.Edges {
		r.Graph.Drawn = append(r.Graph.Drawn, HostLink{e.From, e.To, e.Weight})
	}
	return nil
}

// shownRanks is how many hosts the page lists by their rank.
const shownRanks = 20

// First are the hosts that the page lists.
func (g *HostGraph) First() []RankedHost { return g.Top[:min(len(g.Top), shownRanks)] }

// Shown counts the hosts that are drawn.
func (g *HostGraph) Shown() int64 { return int64(len(g.Top)) }

// Picture draws the hosts of Top.
func (g *HostGraph) Picture() *picture.Picture {
	var t picture.Top
	for _, h := range g.Top {
		t.Vertices = append(t.Vertices, picture.Vertex{Name: h.Host, Rank: h.PageRank, In: h.In, Out: h.Out, Fetched: h.Asked})
	}
	for _, l := range g.Drawn {
		t.Edges = append(t.Edges, picture.Edge{From: l.From, To: l.To, Weight: l.Links})
	}
	return picture.Draw(&t)
}

// Says is what a host says when it is pointed at.
func (g *HostGraph) Says(i int) string {
	h := g.Top[i]
	s := fmt.Sprintf("%d. %s: PageRank %s, linked to by %s, links to %s", i+1, h.Host, share(h.PageRank),
		plural(int64(h.In), "host"), plural(int64(h.Out), "host"))
	if !h.Asked {
		s += "; it was not asked"
	}
	return s
}

// share writes a share of one.
func share(f float64) string { return strconv.FormatFloat(100*f, 'g', 3, 64) + " %" }
