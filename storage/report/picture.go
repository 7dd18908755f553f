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

// picture is a drawing in user units, from the upper left corner.
type picture struct {
	Width, Height float64
	Discs         []disc // the largest first
	Lines         []line // to be drawn below discs, those of few links first
	Labels        []Label
}

// Groups is how many groups have a colour of their own; those of further groups share the last.
const Groups = 8

// disc is a vertex.
type disc struct {
	X, Y, R float64
	Group   int  // below Groups
	Fetched bool //
	Vertex  int  // in the Top
}

// line is an edge, a curve that bends to its left, so that there and back are two lines.
type line struct {
	Path  string // the attribute d of an SVG path
	Width float64
	Group int // of its source
}

// Label is the name of a vertex, or its ends.
type Label struct {
	X, Y   float64 // of the middle of its base line
	Size   int     // place in Sizes
	Text   string
	Vertex int
}

// Sizes are those of labels, and Wide is how wide a character is, as a part of that. The largest are bold.
var (
	Sizes = [...]float64{9.5, 11, 12.5, 15}
	Wide  = [...]float64{0.6, 0.6, 0.6, 0.68}
)

// The box of a picture.
const (
	width  = 1120.0
	height = 780.0
)

// Draw draws a Top.
func Draw(t *Top) *picture {
	p := &picture{Width: width, Height: height}
	if len(t.Vertices) == 0 {
		return p
	}
	group := groups(t)
	radius := make([]float64, len(t.Vertices))
	for i, v := range t.Vertices {
		share := float64(v.In) / float64(max(t.Vertices[0].In, 1))
		radius[i] = round(3.5 + 16.5*math.Sqrt(share))
	}
	at := places(t, group, radius, width, height)
	for i := range t.Vertices {
		at[i] = point{round(at[i].x), round(at[i].y)}
		p.Discs = append(p.Discs, disc{at[i].x, at[i].y, radius[i], min(group[i], Groups-1), t.Vertices[i].Fetched, i})
	}
	thin := 0.6 // the fewer lines, the bolder
	switch {
	case len(t.Edges) <= 60:
		thin = 1.8
	case len(t.Edges) <= 250:
		thin = 1.1
	}
	for i := len(t.Edges) - 1; i >= 0; i-- {
		e := t.Edges[i]
		if e.From == e.To {
			continue
		}
		p.Lines = append(p.Lines, line{
			curve(at[e.From], at[e.To], radius[e.To]), round(thin + 0.7*math.Log10(float64(max(e.Weight, 1)))), min(group[e.From], Groups-1),
		})
	}
	p.label(t)
	return p
}

// curve is the path of a line that ends at a disc of that radius.
func curve(from, to point, radius float64) string {
	dx, dy := to.x-from.x, to.y-from.y
	d := math.Sqrt(dx*dx + dy*dy)
	if d > radius+1 {
		to = point{to.x - dx/d*radius, to.y - dy/d*radius}
		dx, dy = to.x-from.x, to.y-from.y
	}
	middle := point{from.x + dx/2 + dy*0.12, from.y + dy/2 - dx*0.12}
	b := appendPoint([]byte{'M'}, from)
	b = appendPoint(append(b, 'Q'), middle)
	b = appendPoint(append(b, ' '), to)
	return string(b)
}

func appendPoint(b []byte, p point) []byte {
	b = strconv.AppendFloat(b, round(p.x), 'f', -1, 64)
	return strconv.AppendFloat(append(b, ' '), round(p.y), 'f', -1, 64)
}

// box is the space that something takes.
type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

const maxLabel = 34 // characters

// label writes the labels that have room: beside their disc, on no other and on no other label. The highest
// in-degrees come first.
func (p *picture) label(t *Top) {
	var discs, labels []box
	for _, d := range p.Discs {
		discs = append(discs, box{d.X - d.R, d.Y - d.R, d.X + d.R, d.Y + d.R})
	}
	for i, d := range p.Discs {
		class := min(int(d.R/4.5), len(Sizes)-1)
		text := short(t.Vertices[i].Name)
		wide, high := Wide[class]*Sizes[class]*float64(utf8.RuneCountInString(text))+4, Sizes[class]*1.1
		places := around(d, wide, high)
		at := slices.IndexFunc(places, func(b box) bool { return p.isFree(b, discs, labels, i) })
		if at < 0 && i < important { // rather on a lesser disc than not at all
			at = slices.IndexFunc(places, func(b box) bool { return p.isFree(b, discs[:i], labels, i) })
		}
		if at < 0 {
			continue
		}
		b := places[at]
		labels = append(labels, b)
		p.Labels = append(p.Labels, Label{round((b.left + b.right) / 2), round((b.top+b.bottom)/2 + Sizes[class]*0.34), class, text, i})
	}
}

// important is how many labels may hide a lesser disc.
const important = 30

// around are the places for a label beside a disc, the best first.
func around(d disc, wide, high float64) []box {
	var places []box
	for _, at := range [...]point{
		{d.X, d.Y + d.R + high*0.62}, {d.X, d.Y - d.R - high*0.62}, {d.X + d.R + wide/2 + 1, d.Y}, {d.X - d.R - wide/2 - 1, d.Y},
		{d.X + wide/2, d.Y + d.R + high*0.6}, {d.X - wide/2, d.Y + d.R + high*0.6},
		{d.X + wide/2, d.Y - d.R - high*0.6}, {d.X - wide/2, d.Y - d.R - high*0.6},
	} {
		places = append(places, box{at.x - wide/2, at.y - high/2, at.x + wide/2, at.y + high/2})
	}
	return places
}

// isFree reports whether b is within the picture and meets no label and no disc but its own.
func (p *picture) isFree(b box, discs, labels []box, own int) bool {
	if b.left < 0 || b.top < 0 || b.right > p.Width || b.bottom > p.Height || slices.ContainsFunc(labels, b.meets) {
		return false
	}
	for i, o := range discs {
		if i != own && b.meets(o) {
			return false
		}
	}
	return true
}

// short is a name that has room in a picture: the end says whose it is.
func short(name string) string {
	if utf8.RuneCountInString(name) <= maxLabel {
		return name
	}
	runes := []rune(name)
	return string(runes[:10]) + "…" + string(runes[len(runes)-maxLabel+11:])
}

// heft is how much an edge of so many links holds together: ten times the links, twice as much.
func heft(weight uint32) float64 { return 1 + math.Log10(float64(max(weight, 1))) }

// network is an undirected graph of groups, whose weights have been summed.
type network struct {
	links []map[int]float64 // of each, to others and to itself
	total float64           // twice the sum of weights
}

// degree is the sum of weights at i.
func (n *network) degree(i int) (d float64) {
	for _, j := range n.neighbours(i) {
		w := n.links[i][j]
		if j == i {
			w *= 2
		}
		d += w
	}
	return d
}

// neighbours are those in a fixed order: sums of doubles depend on theirs.
func (n *network) neighbours(i int) []int {
	list := make([]int, 0, len(n.links[i]))
	for j := range n.links[i] {
		list = append(list, j)
	}
	slices.Sort(list)
	return list
}

// groups finds groups within which there are more edges than by chance: modularity is raised by moving one vertex at a
// time, then the groups are the vertices of the next round (Blondel and others, Fast unfolding of communities in large
// networks, 2008). Groups are numbered from the one with the largest in-degrees on.
func groups(t *Top) []int {
	count := len(t.Vertices)
	n := &network{links: make([]map[int]float64, count)}
	group := make([]int, count)
	for i := range count {
		n.links[i] = map[int]float64{}
		group[i] = i
	}
	for _, e := range t.Edges {
		n.links[e.From][e.To] += heft(e.Weight)
		if e.From != e.To {
			n.links[e.To][e.From] += heft(e.Weight)
		}
		n.total += 2 * heft(e.Weight)
	}
	for n.total > 0 {
		moved, into := n.move()
		for i := range group {
			group[i] = into[group[i]]
		}
		if !moved {
			break
		}
		n = n.merged(into)
	}
	return bySize(t, group)
}

// move moves each vertex to the neighbouring group that raises modularity the most, until none does.
func (n *network) move() (moved bool, into []int) {
	count := len(n.links)
	into = make([]int, count)
	degree, sum := make([]float64, count), make([]float64, count)
	for i := range count {
		into[i] = i
		degree[i] = n.degree(i)
		sum[i] = degree[i]
	}
	for range 50 {
		again := false
		for i := range count {
			to := map[int]float64{}
			for _, j := range n.neighbours(i) {
				if j != i {
					to[into[j]] += n.links[i][j]
				}
			}
			own := into[i]
			sum[own] -= degree[i]
			best, most := own, to[own]-sum[own]*degree[i]/n.total
			for _, j := range n.neighbours(i) {
				g := into[j]
				if gain := to[g] - sum[g]*degree[i]/n.total; j != i && gain > most+1e-9 {
					best, most = g, gain
				}
			}
			sum[best] += degree[i]
			if best != own {
				into[i] = best
				again, moved = true, true
			}
		}
		if !again {
			break
		}
	}
	return moved, dense(into)
}

// dense numbers groups from 0 on, in the order in which they appear.
func dense(group []int) []int {
	numbers := map[int]int{}
	out := make([]int, len(group))
	for i, g := range group {
		if _, ok := numbers[g]; !ok {
			numbers[g] = len(numbers)
		}
		out[i] = numbers[g]
	}
	return out
}

func (n *network) merged(into []int) *network {
	m := &network{total: n.total}
	for range slices.Max(into) + 1 {
		m.links = append(m.links, map[int]float64{})
	}
	for i := range n.links {
		for _, j := range n.neighbours(i) {
			a, b := into[i], into[j]
			switch {
			case i == j:
				m.links[a][a] += n.links[i][j]
			case a == b:
				m.links[a][a] += n.links[i][j] / 2 // it is met from both ends
			default:
				m.links[a][b] += n.links[i][j]
			}
		}
	}
	return m
}

// bySize numbers groups by the sum of the in-degrees of their vertices.
func bySize(t *Top, group []int) []int {
	group = dense(group)
	sums := make([]uint64, len(group))
	order := make([]int, len(group))
	for i, g := range group {
		sums[g] += uint64(t.Vertices[i].In)
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	place := make([]int, len(group))
	for i, g := range order {
		place[g] = i
	}
	for i, g := range group {
		group[i] = place[g]
	}
	return group
}

// point is a place in user units, from the upper left corner.
type point struct{ x, y float64 }

// golden is the angle that spreads points evenly over a disc.
const golden = 2.399963229728653

const rounds = 700 // of forces; each goes less far than the one before

// places puts vertices into a box of that size. Discs of those radii do not overlap, unless the box is too small for it.
func places(t *Top, group []int, radius []float64, width, height float64) []point {
	n := len(t.Vertices)
	at := make([]point, n)
	// They begin in the order of groups on a spiral, so that few have to cross others.
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return group[a] - group[b] })
	for k, i := range order {
		r, angle := 20*math.Sqrt(float64(k)+0.5), golden*float64(k)
		at[i] = point{r * math.Cos(angle), r * math.Sin(angle)}
	}
	f := forces{t: t, at: at, group: group, push: make([]point, n), mass: make([]float64, n), flat: height / width}
	for i := range f.mass {
		f.mass[i] = 1
	}
	for _, e := range t.Edges {
		f.mass[e.From]++
		f.mass[e.To]++
	}
	for i := range f.mass {
		f.mass[i] = math.Sqrt(f.mass[i])
	}
	for round := range rounds {
		f.round(30 * (1 - float64(round)/rounds))
	}
	fit(at, radius, width, height)
	for range 200 {
		if !apart(at, radius, width, height) {
			break
		}
	}
	return at
}

// forces act on vertices.
type forces struct {
	t     *Top
	at    []point
	push  []point
	mass  []float64
	group []int
	flat  float64 // height by width
}

const (
	repulsion  = 900.0
	attraction = 3.2
	gravity    = 0.035
)

// tenth moves each vertex by its forces, by reach at most.
func (f *forces) round(reach float64) {
	clear(f.push)
	for i := range f.at {
		for j := range i {
			dx, dy := f.at[i].x-f.at[j].x, f.at[i].y-f.at[j].y
			force := repulsion * f.mass[i] * f.mass[j] / (dx*dx + dy*dy + 1)
			if f.group[i] != f.group[j] {
				force *= 1.6
			}
			f.pair(i, j, force*dx/10, force*dy/10)
		}
		// Down is worth more than sideways: the box is wider than high.
		f.push[i].x -= gravity * f.mass[i] * f.at[i].x
		f.push[i].y -= gravity * f.mass[i] * f.at[i].y / f.flat
	}
	for _, e := range f.t.Edges {
		dx, dy := f.at[e.To].x-f.at[e.From].x, f.at[e.To].y-f.at[e.From].y
		d := math.Sqrt(dx*dx + dy*dy)
		if d < 1e-9 {
			continue
		}
		force := attraction * heft(e.Weight) * math.Log1p(d/20) / d
		if f.group[e.From] != f.group[e.To] {
			force *= 0.45
		}
		f.pair(e.From, e.To, force*dx, force*dy)
	}
	for i, p := range f.push {
		d := math.Sqrt(p.x*p.x + p.y*p.y)
		if d < 1e-12 {
			continue
		}
		step := min(d/f.mass[i], reach) / d
		f.at[i].x += p.x * step
		f.at[i].y += p.y * step
	}
}

// pair pushes i by a force and j by its opposite.
func (f *forces) pair(i, j int, x, y float64) {
	f.push[i].x += x
	f.push[i].y += y
	f.push[j].x -= x
	f.push[j].y -= y
}

// fit scales places to the box. Discs and the edge have room.
func fit(at []point, radius []float64, width, height float64) {
	if len(at) == 0 {
		return
	}
	margin := 2*slices.Max(radius) + 4
	low, high := at[0], at[0]
	for _, p := range at {
		low = point{min(low.x, p.x), min(low.y, p.y)}
		high = point{max(high.x, p.x), max(high.y, p.y)}
	}
	scale := func(v, low, high, size float64) float64 {
		if high-low < 1e-9 {
			return size / 2
		}
		return margin + (v-low)/(high-low)*(size-2*margin)
	}
	for i, p := range at {
		at[i] = point{scale(p.x, low.x, high.x, width), scale(p.y, low.y, high.y, height)}
	}
}

// gap is the least space between two discs.
const gap = 5

// apart pushes discs apart that overlap, and reports whether there were any.
func apart(at []point, radius []float64, width, height float64) (moved bool) {
	for i := range at {
		for j := range i {
			dx, dy := at[i].x-at[j].x, at[i].y-at[j].y
			d, want := math.Sqrt(dx*dx+dy*dy), radius[i]+radius[j]+gap
			if d >= want-0.05 {
				continue
			}
			moved = true
			if d < 1e-6 {
				dx, dy, d = math.Cos(float64(i)), math.Sin(float64(i)), 1
			}
			x, y := dx/d*(want-d)/2, dy/d*(want-d)/2
			at[i].x, at[i].y = at[i].x+x, at[i].y+y
			at[j].x, at[j].y = at[j].x-x, at[j].y-y
		}
	}
	for i := range at {
		r := radius[i] + 3
		at[i].x, at[i].y = min(max(at[i].x, r), width-r), min(max(at[i].y, r), height-r)
	}
	return moved
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
