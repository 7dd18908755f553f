//go:build peers

package graph_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage/graph"
)

// python returns a Python with networkx and igraph, preferably Debian's.
func python(t testing.TB) string {
	t.Helper()
	var errs []error
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		err := exec.CommandContext(t.Context(), name, "-c", "import igraph, networkx").Run()
		if err == nil {
			return name
		}
		errs = append(errs, err)
	}
	if os.Getenv("CURTSY_MUST_RUN") != "" {
		t.Fatalf("no Python has networkx and igraph (%v), and CURTSY_MUST_RUN is set", errors.Join(errs...))
	}
	t.Skip("no Python has networkx and igraph")
	return ""
}

func graphOf(t testing.TB, level graph.Level, links [][2]string) *graph.Document {
	t.Helper()
	b := graph.New(graph.Options{Level: level, Dir: t.TempDir()})
	for _, l := range links[:len(links)/9] {
		require.NoError(t, b.Vertex(l[0]))
	}
	for _, l := range links {
		require.NoError(t, b.Link(l[0], l[1]))
	}
	g, err := b.Graph(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { g.Close() })
	return &graph.Document{Level: g.Level, Graph: g}
}

func web(n int) (links [][2]string) {
	r := rand.New(rand.NewPCG(16, 5))
	url := func() string {
		domain := int(40 * math.Pow(r.Float64(), 2))
		return fmt.Sprintf("http://h%d.d%d.example/%s?a=%d&b='<\">é", r.IntN(3), domain, []string{"x", "y&z", "]]>", "%01"}[r.IntN(4)], r.IntN(2))
	}
	for range n {
		links = append(links, [2]string{url(), url()})
	}
	return links
}

func TestPeers_NetworkxAndIgraphReadGraphs(t *testing.T) {
	py := python(t)
	for _, level := range []graph.Level{graph.Hosts, graph.Pages, graph.Domains} {
		d := graphOf(t, level, web(400))
		dir := t.TempDir()
		if _, err := d.Write(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), py, filepath.Join("testdata", "readers.py"), dir, level.String())
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err)
		var theirs map[string]reading
		if err := json.Unmarshal(out, &theirs); err != nil || len(theirs) != 2 {
			t.Fatalf("%d readers: %v", len(theirs), err)
		}
		for who, r := range theirs {
			r.compare(t, level.String()+": "+who, d)
		}
	}
}

type reading struct {
	Vertices []struct {
		Label          string
		In, Out, Hosts float64
		Fetched        bool
		TheirIn        float64 `json:"their_in"`
		TheirOut       float64 `json:"their_out"`
	}
	Edges [][3]uint32
}

func (r reading) compare(t *testing.T, who string, d *graph.Document) {
	t.Helper()
	n := 0
	for v, err := range d.Graph.Vertices() {
		if err != nil || n >= len(r.Vertices) {
			t.Fatalf("%s: %d vertices, of %d: %v", who, len(r.Vertices), d.Graph.Order(), err)
		}
		got := r.Vertices[n]
		if got.Label != v.Name || got.In != float64(d.Graph.In()[n]) || got.Out != float64(d.Graph.Out()[n]) || got.Hosts != float64(v.Hosts) ||
			got.Fetched != v.Fetched {
			t.Fatalf("%s: reads %+v as vertex %+v", who, got, v)
		}
		if got.TheirIn != got.In || got.TheirOut != got.Out {
			t.Fatalf("%s: measures another: %+v", who, got)
		}
		n++
	}
	n = 0
	for e, err := range d.Graph.Edges() {
		if err != nil || n >= len(r.Edges) || r.Edges[n] != [3]uint32{e.From, e.To, e.Weight} {
			t.Fatalf("%s: edge %d is not %+v: %v", who, n, e, err)
		}
		n++
	}
	if n != len(r.Edges) || n == 0 {
		t.Errorf("%s: %d edges, not %d", who, len(r.Edges), n)
	}
}
