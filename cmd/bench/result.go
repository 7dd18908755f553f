package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"curtsy/storage/plainly"
)

// schema is the version of the JSON form.
const schema = 1

// Result is what a bench found.
type Result struct {
	Schema     int        `json:"schema"`
	Version    string     `json:"curtsy"`
	Go         string     `json:"go"`
	System     string     `json:"system"`
	CPUs       int        `json:"cpus"`
	Time       time.Time  `json:"time"`
	Setup      string     `json:"setup"`
	Pages      int        `json:"pages"`
	Hosts      int        `json:"hosts"`
	Workers    int        `json:"workers"`
	Pace       float64    `json:"pace_s,omitempty"`
	Latency    float64    `json:"latency_s,omitempty"`
	Memory     int64      `json:"memory_limit_bytes"`
	Dir        string     `json:"dir"` // where crawls were kept: its disk counts
	NullRate   float64    `json:"null_requests_per_s,omitempty"`
	Contenders []Rows     `json:"contenders"`
	Ratios     []Ratio    `json:"ratios"`
	Parts      []Parts    `json:"parts,omitempty"` // of the bare loop, by round
	MaxBody    int64      `json:"max_body_bytes,omitempty"`
	Added      []addedRSS `json:"peak_rss_added,omitempty"` // of setup hostile
	Violations []string   `json:"violations"`               // of curtsy, in any round
	Void       string     `json:"void,omitempty"`           // why the figures are worth nothing
	Notes      []string   `json:"notes"`

	Yardstick *Yardstick `json:"yardstick,omitempty"`
}

// Rows are the rounds of a contender, and what they come to.
type Rows struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Ours    bool     `json:"ours"` // curtsy
	Peer    bool     `json:"peer"` // a command of somebody else
	Rounds  []Round  `json:"rounds"`

	PagesPerS  spread `json:"pages_per_s"`
	CPUPerPage spread `json:"cpu_ms_per_page"`
	PeakRSS    spread `json:"peak_rss_bytes"`
	Allocs     spread `json:"allocs_per_page"`
	OfAllowed  spread `json:"achieved_ratio"`
	Steady     spread `json:"steady_ratio"`
	Stages     stages `json:"stages_cpu_ms_per_page,omitempty"` // medians, with --profile
}

// Round is one round of a contender. A page is a distinct one.
type Round struct {
	Wall       float64 `json:"wall_s"` // from the start of the process to its end
	User       float64 `json:"user_s"`
	System     float64 `json:"system_s"`
	PagesPerS  float64 `json:"pages_per_s"`  // by the wall
	WhileAsked float64 `json:"window_per_s"` // the same, from the first request to the last answer
	CPUPerPage float64 `json:"cpu_ms_per_page"`
	PeakRSS    int64   `json:"peak_rss_bytes"`            // 0 where the system does not tell
	Allocs     float64 `json:"allocs_per_page,omitempty"` // of our own processes alone, as the two below
	AllocBytes float64 `json:"alloc_bytes_per_page,omitempty"`
	GCs        uint32  `json:"gcs,omitempty"`
	WebCPU     float64 `json:"web_cpu_ms_per_page"` // of the web meanwhile
	Files      int     `json:"files,omitempty"`     // in the tree, of setup mirror
	Stages     stages  `json:"stages_cpu_ms_per_page,omitempty"`
	Stopped    bool    `json:"stopped,omitempty"` // at the limit for peers
	Updates    int64   `json:"updates,omitempty"` // of pages of the dashboard, that browsers read
	Scrapes    int64   `json:"scrapes,omitempty"`

	Referee Refereed `json:"referee"`
}

// spread is a median of rounds, with the least and the most.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Ratio holds curtsy against another: the median of the ratios of each round, which ran close to each other.
type Ratio struct {
	To         string `json:"to"`
	PagesPerS  spread `json:"pages_per_s"`
	CPUPerPage spread `json:"cpu_per_page"`
}

func newRound(e endedRun, own childStats, web webReport) Round {
	r := Round{
		Wall: e.took.Seconds(), User: e.state.UserTime().Seconds(), System: e.state.SystemTime().Seconds(), PeakRSS: own.PeakRSS,
		GCs: own.GCs, Referee: web.Refereed, Stopped: e.stopped, Updates: e.updates, Scrapes: e.scrapes,
	}
	if r.PeakRSS == 0 {
		r.PeakRSS = peakOf(e.state)
	}
	if web.Pages == 0 { // a peer that hung
		return r
	}
	pages := float64(web.Pages)
	r.Allocs, r.AllocBytes, r.WebCPU = float64(own.Mallocs)/pages, float64(own.AllocBytes)/pages, 1e3*web.CPU/pages
	r.PagesPerS, r.CPUPerPage = pages/r.Wall, 1e3*(r.User+r.System)/pages
	if web.Window > 0 {
		r.WhileAsked = pages / web.Window
	}
	return r
}

func (p *Plan) newResult(m *measuring) *Result {
	r := &Result{
		Schema: schema, Version: p.version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Time: time.Now().UTC().Truncate(time.Second), Setup: p.setup, Pages: p.web.Pages, Hosts: p.web.Hosts, Workers: p.workers,
		Pace: p.web.Pace.Seconds(), Latency: p.web.Latency.Seconds(), Memory: p.memory, Dir: m.dir,
		Ratios: []Ratio{}, Violations: []string{}, Notes: []string{},
	}
	for _, c := range p.contenders {
		r.Contenders = append(r.Contenders, Rows{Name: c.name, Command: c.args, Ours: c.ours, Peer: c.peer})
	}
	if p.setup == setupHostile {
		r.MaxBody = p.maxBody
	}
	return r
}

// conclude makes medians and ratios of the rounds, and says what is wrong with them.
func (r *Result) conclude(p *Plan) {
	for i := range r.Contenders {
		r.Contenders[i].sum()
	}
	ours := r.Contenders[0]
	for _, other := range r.Contenders[1:] {
		if other.Ours && other.Name != nameModel && other.Name != nameDashboard {
			continue // another web
		}
		if other.Name == nameDashboard {
			r.Notes = append(r.Notes, r.watched(ours, other))
		}
		r.Ratios = append(r.Ratios, Ratio{
			To:         other.Name,
			PagesPerS:  ratioOf(ours.Rounds, other.Rounds, func(x Round) float64 { return x.PagesPerS }),
			CPUPerPage: ratioOf(ours.Rounds, other.Rounds, func(x Round) float64 { return x.CPUPerPage }),
		})
	}
	r.best()
	r.violate(p)
	r.measureUp()
	r.Void = cmp.Or(r.void(), r.blind())
	r.Notes = append(r.Notes, r.yardstickLines(p.unjudged)...)
	if p.setup == setupHostile {
		r.addUp()
	}
	for _, c := range r.Contenders {
		if c.stopped() {
			r.Notes = append(r.Notes, fmt.Sprintf("%s was %s, after it had requested %d of %d pages; it was not run again", plainly.Lines(c.Name), "stopped after "+plainly.Duration(p.peerLimit), c.Rounds[len(c.Rounds)-1].Referee.Pages, c.Rounds[0].Referee.Expected))
		}
	}
	if r.NullRate > 0 && r.NullRate < slowWeb*ours.PagesPerS.Median {
		r.Notes = append(r.Notes, fmt.Sprintf("the web serves only %.0f requests per second to a client that discards them: too few for a fair measurement", r.NullRate))
	}
	if runtime.GOOS == "windows" {
		r.Notes = append(r.Notes, "on Windows the memory of other processes, and the processor time of the web, are not measured")
	}
}

// Verdict is how the command ends: what the referee found comes first.
func (r *Result) Verdict() error {
	switch {
	case len(r.Violations) > 0:
		return &Found{fmt.Errorf("the servers found a violation, or an incomplete crawl: %s", r.Violations[0])}
	case r.Void != "":
		return fmt.Errorf("the run is void: %s", r.Void)
	}
	return nil
}

// slowWeb times as fast as the crawl must the web be.
const slowWeb = 4

// best adds the ratio to the fastest of the peers, where there are several.
func (r *Result) best() {
	peers := slices.DeleteFunc(slices.Clone(r.Contenders), func(c Rows) bool { return !c.Peer })
	if len(peers) < 2 {
		return
	}
	fastest := slices.MaxFunc(peers, func(a, b Rows) int { return cmp.Compare(a.PagesPerS.Median, b.PagesPerS.Median) })
	q := r.Ratios[slices.IndexFunc(r.Ratios, func(q Ratio) bool { return q.To == fastest.Name })]
	q.To = "the fastest peer, " + q.To
	r.Ratios = append(r.Ratios, q)
}

// violate gathers what is wrong with curtsy's own runs.
func (r *Result) violate(p *Plan) {
	for _, c := range r.Contenders {
		if !c.Ours {
			continue
		}
		for i, x := range c.Rounds {
			found := x.Referee.Violations()
			if p.setup == setupMirror && x.Files < x.Referee.Expected {
				found = append(found, fmt.Sprintf("%d files in the tree for %d pages", x.Files, x.Referee.Expected))
			}
			for _, what := range found {
				r.Violations = append(r.Violations, fmt.Sprintf("%s, round %d: %s", c.Name, i+1, what))
			}
		}
	}
}

func (r *Result) named(name string) *Rows {
	i := slices.IndexFunc(r.Contenders, func(c Rows) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Contenders[i]
}

func (c *Rows) sum() {
	of := func(f func(Round) float64) spread {
		var all []float64
		for _, x := range c.Rounds {
			all = append(all, f(x))
		}
		return spreadOf(all)
	}
	c.PagesPerS = of(func(x Round) float64 { return x.PagesPerS })
	c.CPUPerPage = of(func(x Round) float64 { return x.CPUPerPage })
	c.PeakRSS = of(func(x Round) float64 { return float64(x.PeakRSS) })
	c.Allocs = of(func(x Round) float64 { return x.Allocs })
	c.OfAllowed = of(func(x Round) float64 { return x.Referee.OfAllowed })
	c.Steady = of(func(x Round) float64 { return x.Referee.Steady })
	c.Stages = medianStages(c.Rounds)
}

// stopped reports whether a peer came to its limit.
func (c *Rows) stopped() bool {
	return slices.ContainsFunc(c.Rounds, func(x Round) bool { return x.Stopped })
}

// spreadOf is the median of an even number between the two in the middle.
func spreadOf(all []float64) spread {
	if len(all) == 0 {
		return spread{}
	}
	all = slices.Sorted(slices.Values(all))
	n := len(all)
	return spread{Median: (all[(n-1)/2] + all[n/2]) / 2, Min: all[0], Max: all[n-1]}
}

// ratioOf is the ratio of two contenders, round by round.
func ratioOf(a, b []Round, f func(Round) float64) spread {
	var all []float64
	for i := range min(len(a), len(b)) {
		if d := f(b[i]); d > 0 {
			all = append(all, f(a[i])/d)
		}
	}
	return spreadOf(all)
}
