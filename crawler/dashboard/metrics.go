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

// labelCrawl is the label of each crawl's metrics with its directory.
const labelCrawl = "crawl"

const (
	buildInfo = "curtsy_build_info"
	buildHelp = "A constant 1 with the version of curtsy and of Go."
)

// metric is a metric of each crawl.
type metric struct {
	Name  string
	Help  string
	Label string              // in addition to labelCrawl; empty without one
	of    func(g *Glance) any // a number, a bool, or numbers by label value; nil if the value is absent
	when  when
}

// when selects the crawls that have a metric.
type when int

const (
	ifSeen     when = iota // the crawl was seen
	ifSeenOpen             // ifSeen, with label values that are unknown in advance
	ifRunning              // the crawl runs
	always
)

// Counts reports whether a metric is a counter rather than a gauge.
func (m metric) Counts() bool { return strings.HasSuffix(m.Name, "_total") }

// values returns the values by label value; a metric without a label has one, under "".
func (m metric) values(g *Glance) map[string]float64 {
	if m.when <= ifSeenOpen && g.At.IsZero() || m.when == ifRunning && (!g.Running || g.Err != nil) {
		return nil
	}
	v := map[string]float64{}
	switch n := m.of(g).(type) {
	case int64:
		v[""] = float64(n)
	case float64:
		v[""] = n
	case time.Duration:
		v[""] = n.Seconds()
	case bool:
		v[""] = yes(n)
	case map[string]int64:
		for word, n := range n {
			v[word] = float64(n)
		}
	case nil:
	default:
		panic(fmt.Sprintf("%s is a %T", m.Name, n))
	}
	if m.when == ifSeenOpen { // a series that starts with its first failure would have no rate for it
		v[others] += 0
	}
	return v
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// All returns the metrics in the order of the documentation.
func All() []metric { return all }

var all = append(append(work(), hosts()...), machine()...)

// work lists the metrics of done and pending work.
func work() []metric {
	return []metric{
		{"curtsy_crawl_running", "1 while a process runs the crawl and answers, 0 otherwise.", "", func(g *Glance) any { return g.Running && g.Err == nil }, always},
		{"curtsy_crawl_state", "1 for the state that the crawl is in, 0 for all others.", "state", func(g *Glance) any {
			v := map[string]int64{}
			for _, word := range []string{"running", "waiting", "paused", "draining", "stopped", "finished"} {
				v[word] = int64(yes(word == g.Status.State))
			}
			return v
		}, ifSeen},
		{"curtsy_window_opens_timestamp_seconds", "When the crawl's window opens next (--window); absent while it is open or without one.", "", func(g *Glance) any {
			if !g.Running || g.Status.Opens == nil {
				return nil
			}
			return g.Status.Opens.Unix()
		}, always},
		{"curtsy_crawl_seen_timestamp_seconds", "When the crawl or its frontier was last read.", "", func(g *Glance) any { return float64(g.At.UnixMilli()) / 1e3 }, ifSeen},
		{"curtsy_crawl_generation", "Generation of the crawl: each update starts another, and resets the counters.", "", func(g *Glance) any { return g.Status.Generation }, ifSeen},
		{"curtsy_run_seconds", "Duration of this run so far.", "", func(g *Glance) any { return g.Status.Elapsed }, ifRunning},
		{"curtsy_exchanges_total", "Requests sent, for robots.txt or for URLs including sitemaps.", "kind", func(g *Glance) any {
			return map[string]int64{"robots.txt": g.Status.Robots, "url": max(g.Status.Exchanges-g.Status.Robots, 0)}
		}, ifSeen},
		{"curtsy_responses_total", "Responses by class of status code, those for robots.txt included.", "class", func(g *Glance) any {
			v := map[string]int64{"1xx": 0, "2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0}
			maps.Copy(v, g.Status.Answers)
			return v
		}, ifSeen},
		{"curtsy_responses_by_type_total", "2xx responses by media type; rarer types are counted together.", "type", func(g *Glance) any { return g.Status.Types }, ifSeenOpen},
		{"curtsy_pages_by_tag_total", "HTML pages fetched, by the tag of their seed.", "tag", func(g *Glance) any { return g.Status.Tags }, ifSeenOpen},
		{"curtsy_pages_total", "HTML pages fetched.", "", func(g *Glance) any { return g.Status.Pages }, ifSeen},
		{"curtsy_received_bytes_total", "Bytes received on connections.", "", func(g *Glance) any { return g.Status.Bytes }, ifSeen},
		{"curtsy_urls", "Known URLs, by outcome or queue.", "state", func(g *Glance) any {
			s := &g.Status
			return map[string]int64{
				"fetched": s.Fetched, "redirected": s.Redirected, "gone": s.Gone, "failed": s.Failed, "disallowed": s.Disallowed,
				"dropped": s.Dropped, "held": s.Held, "queued": s.Queued, "in_flight": s.InFlight, "deferred": s.Deferred,
			}
		}, ifSeen},
		{"curtsy_urls_quarantined", "URLs set aside because the process repeatedly died with them.", "", func(g *Glance) any { return g.Status.Quarantined }, ifSeen},
		{"curtsy_links_not_followed_total", "Links not accepted, by rule.", "rule", func(g *Glance) any { return g.Status.Links }, ifSeenOpen},
		{"curtsy_links_capped_total", "Links that a cap dropped, by cap.", "cap", func(g *Glance) any { return g.Status.Capped }, ifSeenOpen},
		{"curtsy_failures_total", "Failed requests, robots.txt included, whether or not a retry succeeded, by class.", "class", func(g *Glance) any { return g.Status.Failures }, ifSeenOpen},
		{"curtsy_documents_not_read_total", "Fetched documents whose links are not all known, by reason.", "reason", func(g *Glance) any { return g.Status.NotRead }, ifSeenOpen},
		{"curtsy_sitemaps_total", "Sitemaps read.", "", func(g *Glance) any { return g.Status.Sitemaps }, ifSeen},
		{"curtsy_sitemap_entries_total", "Entries of sitemaps, accepted or not.", "", func(g *Glance) any { return g.Status.Listed }, ifSeen},
		{"curtsy_estimate_left_seconds", "Minimum time for the URLs known now, from delays and queues.", "", func(g *Glance) any { return g.Estimate.Left }, ifRunning},
	}
}

// hosts lists the metrics of hosts, and the rate that they permit.
func hosts() []metric {
	return []metric{
		{"curtsy_hosts", "Known hosts.", "", func(g *Glance) any { return g.Status.Hosts }, ifSeen},
		{"curtsy_hosts_left_alone", "Hosts that are not being crawled: parked, retired or given up by the crawl, or held by an operator.", "condition", func(g *Glance) any {
			s := &g.Status
			return map[string]int64{"parked": s.Parked, "retired": s.Retired, "refused": s.Refused, "operator": s.Stopped}
		}, ifSeen},
		{"curtsy_hosts_waiting", "Hosts with URLs left, by reason of waiting; among the first 10,000 of the crawl.", "reason", func(g *Glance) any {
			w := &g.Waits
			return map[string]int64{
				"in_turn": w.InTurn, "worker": w.Due, "pace": w.Pace, "address": w.Address, "retry": w.Retry, "rest": w.Rest,
				"robots.txt": w.Robots, "operator": w.Operator, "shut": w.Shut,
			}
		}, ifSeen},
		{"curtsy_permitted_exchanges_per_second", "Rate that politeness permits now, from the delays of all hosts with URLs left.", "", func(g *Glance) any { return g.Waits.Permitted }, ifRunning},
		{"curtsy_achieved_exchanges_per_second", "Rate over the last ten seconds.", "", func(g *Glance) any { return g.Rate }, ifRunning},
		{"curtsy_workers", "Maximum concurrent requests.", "", func(g *Glance) any { return int64(g.Workers) }, ifRunning},
	}
}

// machine lists the metrics of memory and disk.
func machine() []metric {
	return []metric{
		{"curtsy_memory_bytes", "Memory of the crawl's process.", "", func(g *Glance) any { return g.Memory }, ifRunning},
		{"curtsy_disk_free_bytes", "Free disk space for the crawling user.", "", func(g *Glance) any {
			if g.Disk.Free == 0 {
				return nil // unknown on this system
			}
			return g.Disk.Free
		}, always},
		{"curtsy_archive_bytes", "Size of the archive.", "", func(g *Glance) any { return g.Disk.Archive }, ifSeen},
		{"curtsy_ledger_bytes", "Size of the ledger.", "", func(g *Glance) any { return g.Disk.Ledger }, ifSeen},
		{"curtsy_frontier_bytes", "Size of the frontier's file.", "", func(g *Glance) any { return g.Disk.Frontier }, ifSeen},
	}
}

// MetricsOptions configure the metrics.
type MetricsOptions struct {
	// Version is the version of curtsy.
	Version string
	// Process adds metrics of this process, for a crawl that runs in it.
	Process bool
}

// Bounds of a scrape.
const (
	mostScrapes = 4
	scrapeTime  = 10 * time.Second
)

// Handler serves the metrics of the crawls that now returns, and of this process.
func (o MetricsOptions) Handler(now func() []Glance) http.Handler {
	reg := prometheus.NewPedanticRegistry() // refuses metrics that All lacks
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

type crawls struct {
	now   func() []Glance
	descs []*prometheus.Desc // parallel to All

	mu    sync.Mutex
	words map[string]map[string]bool // by crawl and metric: the first label values, which remain series of their own
}

func newCrawls(now func() []Glance) *crawls {
	c := &crawls{now: now, words: map[string]map[string]bool{}}
	for _, m := range All() {
		labels := []string{labelCrawl}
		if m.Label != "" {
			labels = append(labels, m.Label)
		}
		c.descs = append(c.descs, prometheus.NewDesc(m.Name, m.Help, labels, nil))
	}
	return c
}

func (c *crawls) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

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
			values := m.values(&g)
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

// unlike adds a name to before, with a number if it is taken: Prometheus's library fails a scrape with two equal series.
func unlike(before map[string]bool, name string) string {
	one := name
	for n := 2; before[one]; n++ {
		one = fmt.Sprintf("%s (%d)", name, n)
	}
	before[one] = true
	return one
}

// valid returns text as a valid label. Names of directories may be any bytes.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

const (
	mostWords = 50       // separate values of a label
	others    = "others" // the value for the rest
)

// bounded counts the values beyond mostWords under others. The caller holds mu.
func (c *crawls) bounded(of string, values map[string]float64) map[string]float64 {
	k := c.words[of]
	if k == nil {
		k = map[string]bool{}
		c.words[of] = k
	}
	kept := map[string]float64{}
	for _, octets := range slices.SortedFunc(maps.Keys(values), func(a, b string) int { // the largest first
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	}) {
		word := valid(octets)
		if len(k) < mostWords {
			k[word] = true
		}
		if !k[word] {
			word = others
		}
		kept[word] += values[octets]
	}
	return kept
}
