package dashboard

import (
	"strings"
)

// labelCrawl is the label with the directory of a crawl, which each of its metrics has.
const labelCrawl = "crawl"

// What is said of this program.
const (
	buildInfo = "curtsy_build_info"
	buildHelp = "A constant 1 with the version of curtsy and of Go."
)

// metric is one of a crawl.
type metric struct {
	Name  string
	Help  string
	Label string // beside LabelCrawl; empty for none
	of    func(g *Glance) values
}

// values are by the value of the label; of a metric without one under the empty word.
type values = map[string]float64

// Counts reports whether a metric is a counter. Others go up and down.
func (m metric) Counts() bool { return strings.HasSuffix(m.Name, "_total") }

// one is the value of a metric without a label.
func one(v float64) values { return values{"": v} }

// each are the values of a metric with one.
func each(counts map[string]int64) values {
	v := values{}
	for word, n := range counts {
		v[word] = float64(n)
	}
	return v
}

// knownOne is a value of a crawl that has been seen; of another there is none.
func knownOne(of func(g *Glance) float64) func(g *Glance) values {
	return func(g *Glance) values {
		if g.At.IsZero() {
			return nil
		}
		return one(of(g))
	}
}

// knownEach is knownOne for a metric with a label.
func knownEach(of func(g *Glance) map[string]int64) func(g *Glance) values {
	return func(g *Glance) values {
		if g.At.IsZero() {
			return nil
		}
		return each(of(g))
	}
}

// open is knownEach for words that nobody knows before they are met. One is always there: a series that begins with its first
// failure has no rate of it.
func open(of func(g *Glance) map[string]int64) func(g *Glance) values {
	return func(g *Glance) values {
		if g.At.IsZero() {
			return nil
		}
		v := each(of(g))
		v[others] += 0
		return v
	}
}

// runningOne is a value of a crawl that runs.
func runningOne(of func(g *Glance) float64) func(g *Glance) values {
	return func(g *Glance) values {
		if !g.Running || g.Err != nil {
			return nil
		}
		return one(of(g))
	}
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// All are the metrics of a crawl, as a reader wants them.
func All() []metric { return all }

var all = append(append(work(), hosts()...), machine()...)
