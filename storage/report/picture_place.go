package report

import (
	"math"
	"slices"
)

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
