package report

import (
	"context"
	"errors"
	"fmt"

	"curtsy/storage/graph"
)

// HostGraph is who links to whom, by the archive. Hosts are names, at all their ports, whether they were asked or not.
type HostGraph struct {
	Hosts   int64 `json:"hosts"`
	Edges   int64 `json:"edges"`          // pairs of hosts, the one of which links to the other
	Links   int64 `json:"links"`          // of pages, those within a host among them
	Within  int64 `json:"links_within"`   // a host
	LeftOut int64 `json:"links_left_out"` // because there are too many hosts

	Top
}

// Bounds of what the graph of a report takes: some 60 bytes of memory a host.
const (
	graphHosts  = 1 << 20
	graphMemory = 16 << 20
)

// connect adds the graph of hosts. A crawl of one host has none to show.
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

// shownRanks is how many hosts the page lists by in-degree.
const shownRanks = 20

// First are the hosts that the page lists.
func (g *HostGraph) First() []Vertex { return g.Vertices[:min(len(g.Vertices), shownRanks)] }

// Shown counts the hosts that are drawn.
func (g *HostGraph) Shown() int64 { return int64(len(g.Vertices)) }

// Picture draws the hosts of Top.
func (g *HostGraph) Picture() *picture { return Draw(&g.Top) }

// Says is what a host says when it is pointed at.
func (g *HostGraph) Says(i int) string {
	h := g.Vertices[i]
	s := fmt.Sprintf("%d. %s: linked to by %s, links to %s", i+1, h.Name, plural(int64(h.In), "host"), plural(int64(h.Out), "host"))
	if !h.Fetched {
		s += "; it was not requested"
	}
	return s
}
