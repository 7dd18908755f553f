package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"text/template"
)

// chart is a picture with two logarithmic axes.
type chart struct {
	Title, Across, Up string // the axes are named
	Lines             []chartLine
}

type chartLine struct {
	Name   string
	Points [][2]float64 // x, y: both positive
}

// Sizes of a chart, and of its frame.
const (
	chartWidth              = 300
	frameLeft, frameTop     = 48, 78
	frameWidth, frameHeight = 236, 150
)

// tick is a power of ten on an axis.
type tick struct {
	At    float64
	Label string
}

//go:embed scale.svg.tmpl
var svgTemplate string

// scaleSVG draws the steps: three charts side by side, without script.
func (r *result) scaleSVG() ([]byte, error) {
	line := func(name, of, varied string, y func(scaleStep) float64) chartLine {
		l := chartLine{Name: name}
		for _, s := range r.Steps {
			x := s.URLs
			if varied == "hosts" {
				x = s.Hosts
			}
			if v := y(s); s.Of == of && s.Varied == varied && v > 0 {
				l.Points = append(l.Points, [2]float64{float64(x), v})
			}
		}
		return l
	}
	cpu := func(s scaleStep) float64 { return s.CPU }
	charts := []chart{
		{"What a page costs", "URLs known", "CPU ms per page", []chartLine{
			line("whole crawl", scaleCrawl, "urls", cpu), line("frontier only", scaleBolt, "urls", cpu), line("frontier in memory", scaleModel, "urls", cpu)}},
		{"What a URL takes", "URLs known", "bytes per URL", []chartLine{
			line("disk", scaleBolt, "urls", func(s scaleStep) float64 { return s.Disk }), line("memory", scaleBolt, "urls", func(s scaleStep) float64 { return s.RAM })}},
		{"What hosts cost", "hosts", "CPU ms per page", []chartLine{
			line("whole crawl", scaleCrawl, "hosts", cpu), line("frontier only", scaleBolt, "hosts", cpu)}},
	}
	t, err := template.New("").Funcs(template.FuncMap{
		"left":   func(i int) int { return i * chartWidth },
		"key":    func(i int) int { return 32 + 14*i },
		"px":     func(x float64, add int) string { return fmt.Sprintf("%.1f", x+float64(add)) },
		"number": plainNumber,
	}).Parse(svgTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, charts)
	return b.Bytes(), err
}

// decades are the powers of ten around all points, by the axis.
func (c chart) decades(axis int) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			least, most = min(least, math.Floor(math.Log10(p[axis]))), max(most, math.Ceil(math.Log10(p[axis])))
		}
	}
	if math.IsInf(least, 0) {
		return 0, 1
	}
	return least, max(most, least+1)
}

// X is where a value is on the axis from left to right.
func (c chart) X(v float64) float64 {
	least, most := c.decades(0)
	return frameLeft + frameWidth*(math.Log10(v)-least)/(most-least)
}

// Y is where a value is on the axis from bottom to top.
func (c chart) Y(v float64) float64 {
	least, most := c.decades(1)
	return frameTop + frameHeight*(most-math.Log10(v))/(most-least)
}

// XTicks and YTicks are the powers of ten on the axes.
func (c chart) XTicks() []tick { return c.ticks(0, c.X) }
func (c chart) YTicks() []tick { return c.ticks(1, c.Y) }

func (c chart) ticks(axis int, at func(float64) float64) (all []tick) {
	for d, most := c.decades(axis); d <= most; d++ {
		label, v := "", math.Pow(10, d)
		switch {
		case d >= 6:
			label = plainNumber(v/1e6) + "M"
		case d >= 3:
			label = plainNumber(v/1e3) + "k"
		default:
			label = plainNumber(v)
		}
		all = append(all, tick{at(v), label})
	}
	return all
}

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
