package report_test

import (
	"fmt"
	"io"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/graph"
	"curtsy/storage/report"
	"curtsy/storage/warc"
)

// linked makes a crawl of hosts, each of which links to the first, the next, and one that was not requested.
func linked(t testing.TB, hosts int) report.Options {
	t.Helper()
	var lines []storage.Line
	url := func(i int) string { return fmt.Sprintf("https://www.host-%03d.example/", i%hosts) }
	for i := range hosts {
		began := start.Add(time.Duration(i) * time.Second)
		lines = append(lines, storage.Line{
			Time: began, URL: url(i), Decision: storage.DecisionAllow, Outcome: storage.OutcomeFetched, Type: "text/html",
			Attempt: 1, Began: began, Status: 200, Octets: 100,
		})
	}
	o := made(t, lines...)
	w, err := warc.Open(warc.Options{Dir: o.WARC, Name: "curtsy"})
	require.NoError(t, err)
	answer := "HTTP/1.1 200 OK\r\n\r\n"
	for i, l := range lines {
		_, err := w.Record(t.Context(), storage.Record{
			URL: l.URL, Time: l.Began, Addr: netip.MustParseAddrPort("192.0.2.1:443"), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Response: io.NewSectionReader(strings.NewReader(answer), 0, int64(len(answer))), HeadSize: int64(len(answer)), Line: &l,
			Outlinks: []storage.Outlink{{URL: url(0), Kind: "link"}, {URL: url(i + 1), Kind: "link"}, {URL: url(i) + "a", Kind: "link"}, {URL: fmt.Sprintf("http://far-%d.example/<&>'\"", i), Kind: "embed"}},
		})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	o.Graph = true
	return o
}

func TestTheGraphOfHostsIsThatOfTheArchive(t *testing.T) {
	g := report1(t, linked(t, 3)).Graph
	require.NotNil(t, g, "no graph")
	// 0 → 1, far-0; 1 → 0, 2, far-1; 2 → 0 twice, far-2; and each to itself, the first twice.
	if g.Hosts != 6 || g.Edges != 7 || g.Links != 12 || g.Within != 4 || g.LeftOut != 0 || len(g.Vertices) != 6 || len(g.Top.Edges) != 7 || g.More != 0 {
		t.Errorf("%+v", g)
	}
	h := g.Vertices[0]
	assert.Truef(t, h.Name == "www.host-000.example" && h.Fetched && h.In == 2 && h.Out == 2 && h.In >= g.Vertices[1].In, "the first is %+v", h)
	for _, h := range g.Vertices {
		assert.NotEqualf(t, strings.HasPrefix(h.Name, "far-"), h.Fetched, "%+v", h)
	}
	l := g.Top.Edges[0]
	assert.Truef(t, g.Vertices[l.From].Name == "www.host-002.example" && l.To == 0 && l.Weight == 2, "the heaviest is %+v", l)
}

func TestACrawlOfOneHostHasNoLinks(t *testing.T) {
	for name, o := range map[string]report.Options{"one host": linked(t, 1), "no archive": made(t, world()...)} {
		o.Graph = true
		r := report1(t, o)
		page := render(t, r)
		assert.Truef(t, r.Graph == nil && !strings.Contains(page, `id="links"`) && !strings.Contains(page, `href="#links"`), "%s: %+v", name, r.Graph)
	}
	o := linked(t, 3)
	o.Host = "www.host-001.example"
	assert.Nil(t, report1(t, o).Graph, "the page for one host has a graph")
	o.Host, o.Graph = "", false
	assert.Nil(t, report1(t, o).Graph, "an unrequested graph")
}

func TestTheTableOfLinkedHosts(t *testing.T) {
	page := render(t, report1(t, linked(t, 110)))
	for _, s := range []string{"Which hosts link to which", `href="#links"`, "www.host-000.example", "More in the JSON form"} {
		assert.Contains(t, page, s)
	}
	r := &report.Report{Graph: &report.HostGraph{Hosts: 2, Edges: 1, Top: report.Top{Vertices: []report.Vertex{{Name: "<script>alert(1)</script>"}, {Name: `"><img src=x>`}}}}}
	page = render(t, r)
	assert.NotContains(t, page, "<script")
	assert.NotContains(t, page, "<img")
}

// star is a graph in which every vertex links to vertex 0, and vertex 1 to all, with its number as weight.
type star int

func (s star) In() []uint32 {
	in := make([]uint32, s)
	for i := range in {
		in[i] = uint32((i * 7) % int(s))
	}
	return in
}
func (s star) Out() []uint32 { return make([]uint32, s) }
func (s star) Vertices() iter.Seq2[graph.Vertex, error] {
	return func(yield func(graph.Vertex, error) bool) {
		for i := range uint32(s) {
			if !yield(graph.Vertex{ID: i, Name: fmt.Sprint("v", i), Fetched: i == 1}, nil) {
				return
			}
		}
	}
}

func (s star) Edges() iter.Seq2[graph.Edge, error] {
	return func(yield func(graph.Edge, error) bool) {
		for i := range uint32(s) {
			if !yield(graph.Edge{From: i, Weight: i + 1}, nil) {
				return
			}
			for j := uint32(1); j < uint32(s) && (i == 1 || i%2 == 0); j++ {
				if !yield(graph.Edge{From: i, To: j, Weight: j}, nil) {
					return
				}
			}
		}
	}
}

func TestTheTopIsByInDegreeAndHasTheHeaviestEdges(t *testing.T) {
	const n = 500
	in := star(n).In()
	top, err := report.TopOf(star(n))
	if err != nil || len(top.Vertices) != report.MaxVertices || len(top.Edges) != report.MaxEdges || top.More <= 0 {
		t.Fatalf("%d vertices, %d edges and %d more: %v", len(top.Vertices), len(top.Edges), top.More, err)
	}
	led := map[int]bool{}
	for i, v := range top.Vertices {
		require.Truef(t, v.In == uint32(n-1-i) && v.Name == fmt.Sprint("v", v.ID) && in[v.ID] == v.In && v.Fetched == (v.ID == 1), "place %d: %+v", i, v)
	}
	for _, e := range top.Edges {
		led[e.To] = true
	}
	for i, v := range top.Vertices {
		assert.Falsef(t, !led[i] && v.ID != 0, "nothing leads to %s", v.Name)
	}
	assert.True(t, slices.IsSortedFunc(top.Edges, func(a, b report.Edge) int { return int(b.Weight) - int(a.Weight) }), "edges are not by weight")
	again, err := report.TopOf(star(n))
	require.NoError(t, err)
	assert.Equal(t, top, again, "another top")
}
