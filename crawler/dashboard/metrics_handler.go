package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// MetricsOptions are what the metrics are of.
type MetricsOptions struct {
	// Version is that of curtsy.
	Version string
	// Process says that the crawl is one of this process, so that what Go and the system know of it is of interest, too.
	Process bool
}

// Bounds of what who scrapes may ask for.
const (
	mostScrapes = 4
	scrapeTime  = 10 * time.Second
)

// Handler answers a scrape with what now returns, and what is known of this process.
func (o MetricsOptions) Handler(now func() []Glance) http.Handler {
	reg := prometheus.NewPedanticRegistry() // it refuses what is not in the table
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: buildInfo, Help: buildHelp, ConstLabels: prometheus.Labels{"version": o.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	reg.MustRegister(newCrawls(now), build)
	if o.Process {
		reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		MaxRequestsInFlight: mostScrapes, Timeout: scrapeTime, DisableCompression: true, // a few KB, most often over loopback
	})
}

// crawls collects the metrics of crawls.
type crawls struct {
	now   func() []Glance
	descs []*prometheus.Desc // as All

	mu    sync.Mutex
	words map[string]*known // of each label of a crawl
}

func newCrawls(now func() []Glance) *crawls {
	c := &crawls{now: now, words: map[string]*known{}}
	for _, m := range All() {
		labels := []string{labelCrawl}
		if m.Label != "" {
			labels = append(labels, m.Label)
		}
		c.descs = append(c.descs, prometheus.NewDesc(m.Name, m.Help, labels, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *crawls) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *crawls) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[string]bool{}
	for _, g := range c.now() {
		name := unlike(names, valid(g.Name))
		for i, m := range All() {
			kind := prometheus.GaugeValue
			if m.Counts() {
				kind = prometheus.CounterValue
			}
			values := m.of(&g)
			if m.Label != "" {
				values = c.bounded(name+"\x00"+m.Name, values)
			}
			for word, n := range values {
				labels := []string{name}
				if m.Label != "" {
					labels = append(labels, word)
				}
				to <- prometheus.MustNewConstMetric(c.descs[i], kind, n, labels...)
			}
		}
	}
}

// unlike is a name that none of those before has, and is one of them then: of two series that are alike Prometheus's library
// makes an error of the whole scrape.
func unlike(before map[string]bool, name string) string {
	one := name
	for n := 2; before[one]; n++ {
		one = fmt.Sprintf("%s (%d)", name, n)
	}
	before[one] = true
	return one
}

// valid is a text as a label can have it. Names of directories may be any octets.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// mostWords is how many values of a label are told apart.
const mostWords = 50

// others is the value under which the rest is counted.
const others = "others"

// known are the values of a label that are told apart: the first that were met, so that none ever changes its place.
type known map[string]bool

// bounded is values with what there is no room for under others; called with mu held.
func (c *crawls) bounded(of string, values map[string]float64) map[string]float64 {
	k := c.words[of]
	if k == nil {
		k = &known{}
		c.words[of] = k
	}
	told := map[string]float64{}
	for _, octets := range largest(values) {
		word := valid(octets)
		if !(*k)[word] && len(*k) < mostWords {
			(*k)[word] = true
		}
		if (*k)[word] {
			told[word] += values[octets]
		} else {
			told[others] += values[octets]
		}
	}
	return told
}

// largest are the words of values, those that count most first.
func largest(values map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
}
