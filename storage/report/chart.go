package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"curtsy/storage/plainly"
)

// The size of a drawing and of the space for its labels, in user units.
const (
	chartWidth  = 720.0
	chartHeight = 190.0
	chartLeft   = 56.0
	chartRight  = 16.0
	chartTop    = 22.0
	chartFoot   = 34.0
)

// Chart is a drawing of bars, with coordinates that go into SVG as they are.
type Chart struct {
	Label       string
	Bars        []Bar
	X, Y        []Tick
	Mark        *Tick // a line across, with its label
	MarkLeft    bool  // its label stands left of it
	Under       string
	Width       float64
	Height      float64
	Left, Right float64
	Top, Base   float64
}

// Bar is a bar, and what it says when it is pointed at.
type Bar struct {
	X, Y, W, H float64
	Short      bool
	Title      string
}

// Tick is a place on an axis.
type Tick struct {
	At    float64
	Label string
}

func newChart(label, under string) *Chart {
	return &Chart{
		Label: label, Under: under, Width: chartWidth, Height: chartHeight,
		Left: chartLeft, Right: chartWidth - chartRight, Top: chartTop, Base: chartHeight - chartFoot,
	}
}

// round keeps coordinates short.
func round(f float64) float64 { return math.Round(f*10) / 10 }

// bar adds a bar of a share of the full height; one that is not nothing can be seen.
func (c *Chart) bar(from, to, share float64, short bool, title string) {
	h := share * (c.Base - c.Top)
	if share > 0 {
		h = max(h, 2)
	}
	c.Bars = append(c.Bars, Bar{round(from), round(c.Base - h), round(max(to-from-1, 1)), round(h), short, title})
}

// heights puts ticks at round whole numbers up to the full height, which stands for most: these are counts.
func (c *Chart) heights(most int64) {
	step := tickStep(most)
	for n := int64(0); n <= most; n += step {
		c.Y = append(c.Y, Tick{round(c.Base - (c.Base-c.Top)*float64(n)/float64(max(most, 1))), plainly.Grouped(n)})
	}
}

// tickStep is the least of 1, 2, 5, 10, 20, 50, … of which at most four fit into most.
func tickStep(most int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, step := range []int64{power, 2 * power, 5 * power} {
			if most/step <= 4 {
				return step
			}
		}
	}
}

// gapChart draws a histogram of gaps over a logarithmic axis, with the pause that was due as a line.
func gapChart(p Pauses) *Chart {
	unit, due := p.PaceMs/1000, "due: "+duration(p.PaceMs)
	label := "delay from the end of one response to the start of the next request"
	switch {
	case p.Varies:
		unit, due, label = 1, "due", "delay, as a multiple of the delay due"
	case unit <= 0:
		unit = 1
	}
	c := newChart("Histogram of delays", label)
	low, high := 0.5, 3.0
	var most int64
	for _, b := range p.Bins {
		low, high, most = min(low, b.From/1.2), max(high, b.To*1.2), max(most, b.Count)
	}
	x := func(ratio float64) float64 {
		return c.Left + (c.Right-c.Left)*math.Log(ratio/low)/math.Log(high/low)
	}
	write := func(ratio float64) string {
		if p.Varies {
			return strconv.FormatFloat(ratio, 'g', 4, 64) + "×"
		}
		return duration(ratio * unit * 1000)
	}
	for _, b := range p.Bins {
		if b.Count > 0 {
			c.bar(x(b.From), x(b.To), float64(b.Count)/float64(most), b.To <= 1 && (p.PaceMs > 0 || p.Varies),
				fmt.Sprintf("%s to %s: %s", write(b.From), write(b.To), plainly.Grouped(b.Count)))
		}
	}
	steps := []float64{1, 2, 5}
	if high/low > 1000 {
		steps = []float64{1}
	}
	for power := math.Pow(10, math.Floor(math.Log10(low*unit))); power <= high*unit; power *= 10 {
		for _, step := range steps {
			if at := power * step / unit; at >= low && at <= high {
				c.X = append(c.X, Tick{round(x(at)), write(at)})
			}
		}
	}
	c.heights(most)
	if p.PaceMs > 0 || p.Varies {
		c.Mark = &Tick{round(x(1)), due}
		c.MarkLeft = true
	}
	return c
}

// timeChart draws exchanges over time.
func timeChart(tl Timeline) *Chart {
	slot := time.Duration(tl.SlotS) * time.Second
	c := newChart("Requests over time", "requests started in each "+duration(ms(slot))+", UTC")
	var most int64
	for _, s := range tl.Slots {
		most = max(most, s.Exchanges)
	}
	n := max(len(tl.Slots), 1)
	step := min((c.Right-c.Left)/float64(n), 40)
	at := func(i int) time.Time { return time.Unix(tl.Start.Unix()+int64(i)*tl.SlotS, 0).UTC() }
	for i, s := range tl.Slots {
		x := c.Left + float64(i)*step
		if s.Exchanges > 0 {
			c.bar(x, x+step, float64(s.Exchanges)/float64(most), false,
				fmt.Sprintf("%s: %s, %s", at(i).Format(time.DateTime), plural(s.Exchanges, "request"), plainly.RoughSize(s.Octets)))
		}
	}
	form := time.TimeOnly
	if int64(n)*tl.SlotS > 2*86400 {
		form = time.DateOnly
	}
	for every, i := max((n+4)/5, 1), 0; i < n; i += every {
		if i > 0 && step*float64(every) < 70 {
			break
		}
		c.X = append(c.X, Tick{round(c.Left + float64(i)*step), at(i).Format(form)})
	}
	c.heights(most)
	return c
}

// Part is a part of a whole that is drawn as a band.
type Part struct {
	Name, Class string
	N           int64
	X, W        float64
}

// band draws shares of a whole side by side.
func band(parts ...Part) []Part {
	var all int64
	for _, p := range parts {
		all += p.N
	}
	x := 0.0
	for i := range parts {
		if all > 0 {
			parts[i].W = round(chartWidth * float64(parts[i].N) / float64(all))
		}
		parts[i].X = round(x)
		x += parts[i].W
	}
	return parts
}
