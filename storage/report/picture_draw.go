package report

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
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
