package report_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/graph"
	"curtsy/storage/report"
)

// random is a Top of n vertices with so many edges at most.
func random(r *rand.Rand, n, edges int) *report.Top {
	t := &report.Top{}
	for i := range n {
		t.Vertices = append(t.Vertices, report.Vertex{Name: fmt.Sprintf("www.host-%d.example", i), In: uint32(1000 / (i + 2)), Fetched: i%3 > 0})
	}
	has := map[[2]int]bool{}
	for range edges {
		e := report.Edge{From: r.IntN(n), To: int(float64(n) * math.Pow(r.Float64(), 2)), Weight: 1 + uint32(r.IntN(1000))}
		if !has[[2]int{e.From, e.To}] {
			has[[2]int{e.From, e.To}] = true
			t.Edges = append(t.Edges, e)
		}
	}
	return t
}

func TestNothingOverlapsAndAllIsInTheBox(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 6))
	for _, c := range []struct{ n, edges int }{{1, 0}, {2, 1}, {3, 0}, {40, 60}, {200, 0}, {200, 800}} {
		top := random(r, c.n, c.edges)
		p := report.Draw(top)
		require.Equalf(t, c.n, len(p.Discs), "%v: %d discs", c, len(p.Discs))
		for i, d := range p.Discs {
			if d.Vertex != i || d.Fetched != top.Vertices[i].Fetched || d.Group < 0 || d.Group >= report.Groups || d.R > p.Discs[0].R ||
				d.X-d.R < 0 || d.X+d.R > p.Side || d.Y-d.R < 0 || d.Y+d.R > p.Side {
				t.Errorf("%v: disc %+v", c, d)
			}
			for _, e := range p.Discs[:i] {
				assert.GreaterOrEqualf(t, math.Hypot(d.X-e.X, d.Y-e.Y), d.R+e.R+4, "%v: discs %+v and %+v overlap", c, d, e)
			}
		}
		loops := 0
		for _, e := range top.Edges {
			if e.From == e.To {
				loops++
			}
		}
		assert.Equalf(t, len(top.Edges)-loops, len(p.Lines), "%v: %d lines of %d edges", c, len(p.Lines), len(top.Edges))
	}
}

func TestTheSameTopHasTheSamePicture(t *testing.T) {
	draw := func() string {
		b, err := json.Marshal(report.Draw(random(rand.New(rand.NewPCG(16, 7)), 60, 200)))
		require.NoError(t, err)
		return string(b)
	}
	first := draw()
	for range 2 {
		require.Equal(t, first, draw(), "another picture")
	}
	if strings.Contains(first, "NaN") || strings.Contains(first, "Inf") {
		t.Error("a coordinate is not a number")
	}
}

// Two cliques with one edge between them are two groups, and those of a group are neighbours.
func TestGroupsAreWhoLinksToEachOther(t *testing.T) {
	var top report.Top
	for i := range 20 {
		top.Vertices = append(top.Vertices, report.Vertex{Name: fmt.Sprint(i), In: 1})
		for j := range 20 {
			if i != j && i/10 == j/10 {
				top.Edges = append(top.Edges, report.Edge{From: i, To: j, Weight: 1})
			}
		}
	}
	top.Edges = append(top.Edges, report.Edge{From: 3, To: 13, Weight: 1})
	p := report.Draw(&top)
	around := slices.Clone(p.Discs)
	angle := func(i int) float64 { return math.Atan2(p.Discs[i].Y-p.Side/2, p.Discs[i].X-p.Side/2) }
	slices.SortFunc(around, func(a, b report.Disc) int { return cmp.Compare(angle(a.Vertex), angle(b.Vertex)) })
	borders := 0
	for i, d := range around {
		assert.Equal(t, d.Vertex < 10, d.Group == p.Discs[0].Group, "the group of vertex %d", d.Vertex)
		if d.Group != around[(i+1)%len(around)].Group {
			borders++
		}
	}
	assert.Equal(t, 2, borders, "borders between two groups")
}

func TestLongNamesKeepTheirEnd(t *testing.T) {
	top := report.Top{Vertices: []report.Vertex{{Name: strings.Repeat("ä", 200) + ".example.org", In: 1}}}
	p := report.Draw(&top)
	assert.Equal(t, strings.Repeat("ä", 10)+"…"+strings.Repeat("ä", 11)+".example.org", p.Discs[0].Label)
}

func TestNothingIsAnEmptyPicture(t *testing.T) {
	if p := report.Draw(&report.Top{}); len(p.Discs)+len(p.Lines) != 0 {
		t.Errorf("%+v", p)
	}
}

// star is a graph in which every vertex links to vertex 0, and vertex 1 to all, so often as its number says.
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
		if v.In != uint32(n-1-i) || v.Name != fmt.Sprint("v", v.ID) || in[v.ID] != v.In || v.Fetched != (v.ID == 1) {
			t.Fatalf("place %d: %+v", i, v)
		}
	}
	for _, e := range top.Edges {
		led[e.To] = true
	}
	for i, v := range top.Vertices {
		if !led[i] && v.ID != 0 {
			t.Errorf("nothing leads to %s", v.Name)
		}
	}
	assert.True(t, slices.IsSortedFunc(top.Edges, func(a, b report.Edge) int { return int(b.Weight) - int(a.Weight) }), "edges are not by weight")
	again, err := report.TopOf(star(n))
	require.NoError(t, err)
	assert.Equal(t, top, again, "another top")
}
