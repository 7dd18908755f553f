package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
)

// chart is a small picture with two logarithmic axes.
type chart struct {
	title, across, up string // what is seen, and what the axes are
	lines             []chartLine
}

type chartLine struct {
	name   string
	points [][2]float64 // x, y: both more than 0
}

// scaleCharts are what the steps show.
func scaleCharts(r *ScaleResult) []chart {
	line := func(name, of, varied string, y func(scaleStep) float64) chartLine {
		l := chartLine{name: name}
		for _, s := range r.Steps {
			x := s.URLs
			if varied == "hosts" {
				x = s.Hosts
			}
			if v := y(s); s.Of == of && s.Varied == varied && v > 0 {
				l.points = append(l.points, [2]float64{float64(x), v})
			}
		}
		return l
	}
	cpu := func(s scaleStep) float64 { return s.CPU }
	return []chart{
		{"What a page costs", "URLs known", "CPU ms per page", []chartLine{
			line("whole crawl", scaleCrawl, "urls", cpu), line("frontier only", scaleBolt, "urls", cpu), line("frontier in memory", scaleModel, "urls", cpu)}},
		{"What a URL takes", "URLs known", "bytes per URL", []chartLine{
			line("disk", scaleBolt, "urls", func(s scaleStep) float64 { return s.Disk }), line("memory", scaleBolt, "urls", func(s scaleStep) float64 { return s.RAM })}},
		{"What hosts cost", "hosts", "CPU ms per page", []chartLine{
			line("whole crawl", scaleCrawl, "hosts", cpu), line("frontier only", scaleBolt, "hosts", cpu)}},
	}
}

// Sizes of the picture. A chart has a frame with room around it for words.
const (
	chartWidth, chartHeight = 300, 280
	frameLeft, frameTop     = 48, 78
	frameWide, frameHigh    = 236, 150
)

// scaleStyle is for light and for dark surroundings. Lines differ in their dashes as well as in colour.
const scaleStyle = `<style>
text{font:11px system-ui,sans-serif;fill:#24292f}.t{font-weight:600;font-size:13px}.g{stroke:#d0d7de;stroke-width:1;fill:none}
.l{fill:none;stroke-width:2}.c0{stroke:#0550ae;fill:#0550ae}.c1{stroke:#bc4c00;fill:#bc4c00}.c2{stroke:#116329;fill:#116329}
.l.c0,.l.c1,.l.c2{fill:none}.c1.l{stroke-dasharray:6 3}.c2.l{stroke-dasharray:2 3}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.g{stroke:#3d444d}.c0{stroke:#79c0ff;fill:#79c0ff}.c1{stroke:#ffa657;fill:#ffa657}.c2{stroke:#7ee787;fill:#7ee787}}
</style>
`

// PictureMark stands at the beginning of each picture of scale.
const PictureMark = `aria-label="Cost as the work grows"`

// scaleSVG draws the charts side by side. It is a picture alone: no script, nothing loaded.
func scaleSVG(r *ScaleResult) []byte {
	charts := scaleCharts(r)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" %s>`+"\n", chartWidth*len(charts), chartHeight, PictureMark)
	b.WriteString(scaleStyle)
	for i := range charts {
		fmt.Fprintf(&b, `<g transform="translate(%d 0)">`+"\n", i*chartWidth)
		charts[i].draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// draw draws a chart with its upper left corner at the origin.
func (c *chart) draw(b *bytes.Buffer) {
	write := func(x, y float64, anchor, class, text string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">`, x, y, anchor, class)
		_ = xml.EscapeText(b, []byte(text)) // a bytes.Buffer takes everything
		b.WriteString("</text>\n")
	}
	write(frameLeft, 16, "start", "t", c.title)
	for i, l := range c.lines {
		y := 32 + 14*float64(i)
		fmt.Fprintf(b, `<path class="l c%d" d="M%d %.1fh22"/>`+"\n", i, frameLeft, y-4)
		write(frameLeft+28, y, "start", "", l.name)
	}
	write(frameLeft-40, frameTop-6, "start", "", c.up)
	write(frameLeft+frameWide, frameTop+frameHigh+34, "end", "", c.across)
	across, up := c.decades(0), c.decades(1)
	x := func(v float64) float64 {
		return frameLeft + frameWide*(math.Log10(v)-across[0])/(across[1]-across[0])
	}
	y := func(v float64) float64 { return frameTop + frameHigh*(up[1]-math.Log10(v))/(up[1]-up[0]) }
	for d := across[0]; d <= across[1]; d++ {
		at := x(math.Pow(10, d))
		fmt.Fprintf(b, `<path class="g" d="M%.1f %dv%d"/>`+"\n", at, frameTop, frameHigh)
		write(at, frameTop+frameHigh+16, "middle", "", decade(d))
	}
	for d := up[0]; d <= up[1]; d++ {
		at := y(math.Pow(10, d))
		fmt.Fprintf(b, `<path class="g" d="M%d %.1fh%d"/>`+"\n", frameLeft, at, frameWide)
		write(frameLeft-6, at+4, "end", "", decade(d))
	}
	for i, l := range c.lines {
		if len(l.points) == 0 {
			continue
		}
		fmt.Fprintf(b, `<path class="l c%d" d="`, i)
		for n, p := range l.points {
			verb := "L"
			if n == 0 {
				verb = "M"
			}
			fmt.Fprintf(b, "%s%.1f %.1f", verb, x(p[0]), y(p[1]))
		}
		b.WriteString("\"/>\n")
		for _, p := range l.points {
			fmt.Fprintf(b, `<circle class="c%d" cx="%.1f" cy="%.1f" r="2.5"><title>%s, %s: %s</title></circle>`+"\n", i, x(p[0]), y(p[1]), l.name, plainNumber(p[0]), plainNumber(p[1]))
		}
	}
}

// decades are the powers of ten between which all points lie, by the axis.
func (c *chart) decades(axis int) [2]float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, l := range c.lines {
		for _, p := range l.points {
			least, most = min(least, math.Floor(math.Log10(p[axis]))), max(most, math.Ceil(math.Log10(p[axis])))
		}
	}
	if math.IsInf(least, 0) {
		return [2]float64{0, 1}
	}
	return [2]float64{least, max(most, least+1)}
}

// decade writes a power of ten as people do: 0.01, 1, 100k.
func decade(d float64) string {
	switch {
	case d >= 6:
		return plainNumber(math.Pow(10, d-6)) + "M"
	case d >= 3:
		return plainNumber(math.Pow(10, d-3)) + "k"
	}
	return plainNumber(math.Pow(10, d))
}

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
