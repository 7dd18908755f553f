package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"curtsy/storage/graph"
)

// picture is a drawing of vertices on a circle, in user units, from the upper left corner of a square.
type picture struct {
	Side  float64
	Lines []line // to be drawn below discs, those of few links first
	Discs []Disc // in the order of the Top
}

// Groups is how many groups have a colour; those of further groups share the last.
const Groups = 8

// Disc is a vertex and its label, which leads away from the centre.
type Disc struct {
	X, Y, R float64
	Group   int // below Groups
	Fetched bool
	Vertex  int // in the Top

	Label  string
	At     float64 // where the label begins, to the right of the centre of the disc; to the left if negative
	Turned float64 // the label around the disc, in degrees
}

// line is an edge, a curve through the circle; there and back are two.
type line struct {
	Path  string // the attribute d of an SVG path
	Width float64
	Group int // of its source
}

const (
	leastRing = 260.0 // radius of the circle
	gap       = 4.5   // the least space between two discs; with the least disc, it has room for the height of a label
	character = 6.6   // the width of one in a label
	maxLabel  = 34    // characters
)

// Draw draws a Top. The vertices of a group are neighbours on the circle.
func Draw(t *Top) *picture {
	n, around, longest := len(t.Vertices), 0.0, 0
	group, radius, order := groups(t), make([]float64, n), make([]int, n)
	for i, v := range t.Vertices {
		share := float64(v.In) / float64(max(t.Vertices[0].In, 1))
		radius[i], order[i] = round(3.5+16.5*math.Sqrt(share)), i
		around += 2*radius[i] + gap
		longest = max(longest, utf8.RuneCountInString(short(v.Name)))
	}
	slices.SortStableFunc(order, func(a, b int) int { return group[a] - group[b] })
	ring := max(leastRing, around/(2*math.Pi)*1.02) // a chord is shorter than its arc
	middle := ring + 30 + character*float64(longest)
	p := &picture{Side: round(2 * middle), Discs: make([]Disc, n)}
	angle := make([]float64, n)
	passed := 0.0
	for _, i := range order {
		room := (2*radius[i] + gap) / around * 2 * math.Pi
		angle[i] = passed + room/2
		passed += room
		d := Disc{X: round(middle + ring*math.Cos(angle[i])), Y: round(middle + ring*math.Sin(angle[i])), R: radius[i],
			Group: min(group[i], Groups-1), Fetched: t.Vertices[i].Fetched, Vertex: i, Label: short(t.Vertices[i].Name),
			At: radius[i] + 3, Turned: round(angle[i] * 180 / math.Pi)}
		if math.Cos(angle[i]) < 0 { // else it would be upside down
			d.At, d.Turned = -d.At, d.Turned-180
		}
		p.Discs[i] = d
	}
	thin := 0.6 // the fewer lines, the bolder
	switch {
	case len(t.Edges) <= 60:
		thin = 1.8
	case len(t.Edges) <= 250:
		thin = 1.1
	}
	for _, e := range slices.Backward(t.Edges) {
		if e.From == e.To {
			continue
		}
		end := func(i int) point {
			inner := ring - radius[i]
			return point{inner * math.Cos(angle[i]), inner * math.Sin(angle[i])}
		}
		p.Lines = append(p.Lines, line{
			curve(end(e.From), end(e.To), middle), round(thin + 0.7*math.Log10(float64(max(e.Weight, 1)))), p.Discs[e.From].Group,
		})
	}
	return p
}

// point is a place, from the centre of the circle.
type point struct{ x, y float64 }

// curve is the path of a line, drawn towards the centre, which is at middle in both directions.
func curve(from, to point, middle float64) string {
	dx, dy := to.x-from.x, to.y-from.y
	bend := point{0.2*(from.x+to.x) + dy*0.08, 0.2*(from.y+to.y) - dx*0.08}
	var b []byte
	for i, p := range []point{from, bend, to} {
		b = strconv.AppendFloat(append(b, "MQ "[i]), round(middle+p.x), 'f', -1, 64)
		b = strconv.AppendFloat(append(b, ' '), round(middle+p.y), 'f', -1, 64)
	}
	return string(b)
}

// short is a name that has room in a picture: the end says whose it is.
func short(name string) string {
	if utf8.RuneCountInString(name) <= maxLabel {
		return name
	}
	runes := []rune(name)
	return string(runes[:10]) + "…" + string(runes[len(runes)-maxLabel+11:])
}

// groups finds groups within which there are more edges than by chance: each vertex moves to the neighbouring group that
// raises modularity the most, until none does (Blondel and others, Fast unfolding of communities in large networks, 2008,
// the first of its two phases). Groups are numbered from the one with the largest in-degrees on.
func groups(t *Top) []int {
	type neighbour struct {
		at   int
		heft float64 // ten times the links, twice as much
	}
	n := len(t.Vertices)
	group, links := make([]int, n), make([][]neighbour, n)
	degree, sum, total := make([]float64, n), make([]float64, n), 0.0
	for _, e := range t.Edges {
		heft := 1 + math.Log10(float64(max(e.Weight, 1)))
		links[e.From] = append(links[e.From], neighbour{e.To, heft})
		links[e.To] = append(links[e.To], neighbour{e.From, heft})
		degree[e.From] += heft
		degree[e.To] += heft
		total += 2 * heft
	}
	for i := range n {
		group[i], sum[i] = i, degree[i]
	}
	for range 50 {
		moved := false
		for i, all := range links {
			to := map[int]float64{} // summed in the order of the edges, so that it is the same each time
			for _, l := range all {
				if l.at != i {
					to[group[l.at]] += l.heft
				}
			}
			own := group[i]
			sum[own] -= degree[i]
			best, most := own, to[own]-sum[own]*degree[i]/total
			for _, l := range all {
				g := group[l.at]
				if gain := to[g] - sum[g]*degree[i]/total; gain > most+1e-9 {
					best, most = g, gain
				}
			}
			sum[best] += degree[i]
			moved = moved || best != own
			group[i] = best
		}
		if !moved {
			break
		}
	}
	size, numbers := make([]uint64, n), make([]int, n) // of groups
	for i, g := range group {
		size[g] += uint64(t.Vertices[i].In)
		numbers[i] = i
	}
	slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	for i, g := range group {
		group[i] = slices.Index(numbers, g)
	}
	return group
}

// Bounds of a Top.
const (
	MaxVertices = 200
	MaxEdges    = 800
)

// Top is the part of a graph that is drawn.
type Top struct {
	Vertices []Vertex `json:"top"`          // by in-degree, the highest first
	Edges    []Edge   `json:"links_of_top"` // by weight, the heaviest first
	More     int64    `json:"more_of_top"`  // edges between the vertices beside those
}

// Vertex is a vertex of a Top.
type Vertex struct {
	Name    string `json:"host"`
	In      uint32 `json:"in_degree"`
	Out     uint32 `json:"out_degree"`
	ID      uint32 `json:"-"`     // in its graph
	Fetched bool   `json:"asked"` // something of it was fetched, or else it is only linked to
}

// Edge is an edge of a Top, between places in Vertices.
type Edge struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Weight uint32 `json:"links"`
}

// source is a graph. *graph.Graph is one.
type source interface {
	In() []uint32
	Out() []uint32
	Vertices() iter.Seq2[graph.Vertex, error]
	Edges() iter.Seq2[graph.Edge, error]
}

// TopOf picks the vertices of the highest in-degrees, at most MaxVertices, and of the edges between them the heaviest, at most
// MaxEdges: of each vertex the heaviest that leads to it, then those of all. Equals stand in the order of the graph.
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

// heaviest picks MaxEdges, the heaviest that leads to each of n vertices among them. It sorts all.
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
