package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"curtsy/storage/plainly"
)

// Charts are SVG without scripts or styles of their own: their colours are those of the style sheet. What is written into
// them are numbers and classes, and words only through template.HTMLEscapeString.

const (
	chartWidth  = 720
	chartHeight = 160
)

// curve draws what happened in equal parts of a time, and a line of what was permitted where there is one.
func curve(values, permitted []float64, class, label string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 -3 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`,
		chartWidth, chartHeight+6, template.HTMLEscapeString(label))
	top := 1.0
	if len(values) > 0 {
		top = niceTop(max(slices.Max(values), slices.Max(append([]float64{0}, permitted...))))
	}
	for i := range 5 {
		y := chartHeight * i / 4
		fmt.Fprintf(&b, `<line class="rule" x1="0" x2="%d" y1="%d" y2="%d"/>`, chartWidth, y, y)
	}
	if len(values) > 1 {
		line := points(values, top)
		fmt.Fprintf(&b, `<polygon class="area %s" points="0,%d %s %d,%d"/><polyline class="line %s" points="%s"/>`,
			class, chartHeight, line, chartWidth, chartHeight, class, line)
	}
	if len(permitted) > 1 {
		fmt.Fprintf(&b, `<polyline class="line permitted" points="%s"/>`, points(permitted, top))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

func points(values []float64, top float64) string {
	var b strings.Builder
	for i, v := range values {
		x := float64(chartWidth) * float64(i) / float64(len(values)-1)
		y := chartHeight - chartHeight*min(v/top, 1)
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%.1f,%.1f", x, y)
	}
	return b.String()
}

// niceTop is the next round number above.
func niceTop(v float64) float64 {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10} {
		if v <= m*unit {
			return m * unit
		}
	}
	return 10 * unit
}

// part is a part of a whole.
type part struct {
	Class, Name, Note, State string
	N                        int64
}

// bar draws parts of a whole beside each other. The table beside it says the same in words.
func bar(parts []part) template.HTML {
	var sum int64
	for _, p := range parts {
		sum += p.N
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bar" viewBox="0 0 %d 20" preserveAspectRatio="none" aria-hidden="true">`, chartWidth)
	var x float64
	for _, p := range parts {
		if p.N <= 0 || sum == 0 {
			continue
		}
		width := chartWidth * float64(p.N) / float64(sum)
		fmt.Fprintf(&b, `<rect class="fill %s" x="%.1f" y="0" width="%.1f" height="20"/>`, p.Class, x, max(width-1.5, 1))
		x += width
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// meter draws one number of several, as a bar in a table.
func meter(n, most int64, class string) template.HTML {
	width := 0.0
	if most > 0 {
		width = 100 * float64(n) / float64(most)
	}
	return template.HTML(fmt.Sprintf(
		`<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rail" width="100" height="8"/><rect class="fill %s" width="%.1f" height="8"/></svg>`,
		class, width))
}

// histogram is how often gaps of which length were.
type histogram struct {
	Counts  []int
	Top     time.Duration // of the last bin, which holds all that is longer
	Pace    time.Duration // that was due last
	By      string
	Shorter int // than was due
	N       int
	More    bool // some are longer than Top
	Least   time.Duration
	Median  time.Duration
}

const bins = 48

func histogramOf(gaps []Gap) (h histogram) {
	if h.N = len(gaps); h.N == 0 {
		return h
	}
	kept := make([]time.Duration, 0, len(gaps))
	for _, g := range gaps {
		kept = append(kept, g.Kept)
		h.Pace = max(h.Pace, g.Due)
		// The ledger has both in whole microseconds.
		if g.Kept+time.Microsecond < g.Due {
			h.Shorter++
		}
	}
	last := gaps[len(gaps)-1]
	h.Pace, h.By = last.Due, string(last.By)
	slices.Sort(kept)
	h.Least, h.Median = kept[0], kept[len(kept)/2]
	top := max(2*h.Pace, kept[len(kept)*95/100], time.Millisecond).Seconds()
	h.Top = time.Duration(niceTop(top) * float64(time.Second))
	h.More = kept[len(kept)-1] > h.Top
	h.Counts = make([]int, bins)
	for _, d := range kept {
		i := int(float64(bins) * float64(d) / float64(h.Top))
		h.Counts[min(max(i, 0), bins-1)]++
	}
	return h
}

// Most is how many the highest bar stands for.
func (h histogram) Most() string {
	return plainly.Grouped(int64(slices.Max(append([]int{0}, h.Counts...))))
}

// Ticks are the words below the histogram, at equal distances.
func (h histogram) Ticks() (words []string) {
	for i := range 5 {
		words = append(words, lasting(h.Top*time.Duration(i)/4))
	}
	if h.More {
		words[4] = "≥ " + words[4]
	}
	return words
}

// SVG draws the histogram, with the pace as a line.
func (h histogram) SVG() template.HTML {
	most := max(slices.Max(append([]int{0}, h.Counts...)), 1)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 -3 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, chartWidth, chartHeight+6,
		template.HTMLEscapeString(fmt.Sprintf("Histogram of %d delays from 0 to %s: minimum %s, median %s, required %s",
			h.N, lasting(h.Top), lasting(h.Least), lasting(h.Median), lasting(h.Pace))))
	fmt.Fprintf(&b, `<line class="rule" x1="0" x2="%d" y1="%d" y2="%d"/>`, chartWidth, chartHeight, chartHeight)
	width := float64(chartWidth) / bins
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		height := max(chartHeight*math.Sqrt(float64(n)/float64(most)), 2) // a root, so that one of a thousand is seen
		fmt.Fprintf(&b, `<rect class="fill pace" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, float64(i)*width+0.5, chartHeight-height, width-1, height)
	}
	if h.Top > 0 {
		x := float64(chartWidth) * min(float64(h.Pace)/float64(h.Top), 1)
		fmt.Fprintf(&b, `<line class="line permitted" x1="%.1f" x2="%.1f" y1="-3" y2="%d"/>`, x, x, chartHeight)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}
