package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

// result is what a bench measured. The JSON form has everything, the text form the medians.
type result struct {
	Schema     int        `json:"schema"`
	Version    string     `json:"curtsy"`
	Go         string     `json:"go"`
	System     string     `json:"system"`
	CPUs       int        `json:"cpus"`
	Time       time.Time  `json:"time"`
	Dir        string     `json:"dir"` // of the crawls: its disk counts
	Setup      string     `json:"setup"`
	Pages      int        `json:"pages,omitempty"`
	Hosts      int        `json:"hosts,omitempty"`
	Workers    int        `json:"workers,omitempty"`
	Pace       float64    `json:"pace_s,omitempty"`
	Contenders []rows     `json:"contenders,omitempty"`
	Ratios     []ratio    `json:"ratios,omitempty"`
	Parts      []parts    `json:"parts,omitempty"`          // by round
	ToParts    float64    `json:"bare_to_parts,omitempty"`  // processor time of the bare loop ÷ that of its parts
	Added      []addedRSS `json:"peak_rss_added,omitempty"` // of setup hostile
	Faults     int        `json:"faults,omitempty"`         // of the site for link checkers
	Docs       string     `json:"docs,omitempty"`           // the folder for link checkers
	Checkers   []checker  `json:"checkers,omitempty"`       // curtsy first
	Violations []string   `json:"violations"`               // by curtsy, in any round
	Void       string     `json:"void,omitempty"`           // why the figures are void
	Notes      []string   `json:"notes"`
}

// rows are the rounds of a contender and their medians.
type rows struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Peer    bool     `json:"peer"`
	Rounds  []round  `json:"rounds"`

	PagesPerS  spread `json:"pages_per_s"`
	CPUPerPage spread `json:"cpu_ms_per_page"`
	PeakRSS    spread `json:"peak_rss_bytes"`
	Allocs     spread `json:"allocs_per_page"`
	Stages     stages `json:"stages_cpu_ms_per_page,omitempty"` // with --profile

	web webConfig
}

// round is one run. A page is a distinct one.
type round struct {
	Wall       float64 `json:"wall_s"`      // from the start of the process to its end
	PagesPerS  float64 `json:"pages_per_s"` // by the wall
	CPUPerPage float64 `json:"cpu_ms_per_page"`
	PeakRSS    int64   `json:"peak_rss_bytes"`            // 0 = unknown
	Allocs     float64 `json:"allocs_per_page,omitempty"` // not of peers
	Files      int     `json:"files,omitempty"`           // in the tree, of setup mirror
	Stages     stages  `json:"stages_cpu_ms_per_page,omitempty"`
	Stopped    bool    `json:"stopped,omitempty"` // a peer, at its limit
	Updates    int64   `json:"updates,omitempty"` // of dashboard pages in browsers
	Scrapes    int64   `json:"scrapes,omitempty"`

	Referee refereed `json:"referee"`
}

// spread is the median of some rounds, with minimum and maximum.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// ratio is curtsy ÷ another: the median of the ratios within rounds, whose runs were close in time.
type ratio struct {
	To         string `json:"to"`
	PagesPerS  spread `json:"pages_per_s"`
	CPUPerPage spread `json:"cpu_per_page"`
}

// addedRSS is the additional peak memory of a crawl with one hostile body.
type addedRSS struct {
	Of      string `json:"of"`
	Without spread `json:"without_bytes"`
	With    spread `json:"with_bytes"`
	Added   spread `json:"added_bytes"`
}

func pagesPerS(x round) float64  { return x.PagesPerS }
func cpuPerPage(x round) float64 { return x.CPUPerPage }

func newRound(e ended, own childStats, judged refereed) round {
	r := round{Wall: e.took.Seconds(), PeakRSS: cmp.Or(own.PeakRSS, peakOf(e.state)), Referee: judged, Stopped: e.stopped, Updates: e.updates, Scrapes: e.scrapes}
	if pages := float64(judged.Pages); pages > 0 {
		r.Allocs, r.PagesPerS = float64(own.Mallocs)/pages, pages/r.Wall
		r.CPUPerPage = 1e3 * (e.state.UserTime() + e.state.SystemTime()).Seconds() / pages
	}
	return r
}

func (b *bench) newResult() *result {
	r := &result{Schema: 2, Version: crawldir.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Time: time.Now().UTC().Truncate(time.Second), Dir: b.tmp, Setup: b.name, Pages: b.pages, Hosts: b.hosts, Workers: b.workers,
		Docs: b.docs, Violations: []string{}, Notes: []string{}}
	for _, c := range b.contenders {
		r.Pace = c.web.Pace.Seconds()
		r.Contenders = append(r.Contenders, rows{Name: c.name, Command: slices.Concat(c.words, c.job.Args), Peer: c.peer(), web: c.web})
	}
	return r
}

// spread returns the spread of a figure of all rounds.
func (c *rows) spread(figure func(round) float64) spread {
	var all []float64
	for _, x := range c.Rounds {
		all = append(all, figure(x))
	}
	return spreadOf(all)
}

// ratioTo returns the spread of the ratios within rounds.
func (c *rows) ratioTo(other *rows, figure func(round) float64) spread {
	var all []float64
	for i := range min(len(c.Rounds), len(other.Rounds)) {
		if d := figure(other.Rounds[i]); d > 0 {
			all = append(all, figure(c.Rounds[i])/d)
		}
	}
	return spreadOf(all)
}

// spreadOf takes the mean of the two middle values as the median of an even number.
func spreadOf(all []float64) spread {
	if len(all) == 0 {
		return spread{}
	}
	all = slices.Sorted(slices.Values(all))
	n := len(all)
	return spread{Median: (all[(n-1)/2] + all[n/2]) / 2, Min: all[0], Max: all[n-1]}
}

func (c *rows) stopped() bool {
	return slices.ContainsFunc(c.Rounds, func(x round) bool { return x.Stopped })
}

// ours reports whether the contender is curtsy.
func (c *rows) ours() bool { return !c.Peer && !strings.HasPrefix(c.Name, bareLoop) }

func (r *result) named(name string) *rows {
	i := slices.IndexFunc(r.Contenders, func(c rows) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Contenders[i]
}

// conclude computes medians and ratios, and what is wrong with the rounds.
func (r *result) conclude() {
	for i := range r.Contenders {
		c := &r.Contenders[i]
		c.PagesPerS, c.CPUPerPage, c.Stages = c.spread(pagesPerS), c.spread(cpuPerPage), medianStages(c.Rounds)
		c.PeakRSS = c.spread(func(x round) float64 { return float64(x.PeakRSS) })
		c.Allocs = c.spread(func(x round) float64 { return x.Allocs })
		r.judge(c)
	}
	ours := &r.Contenders[0]
	var fastest *ratio
	best := 0.0
	for i := range r.Contenders[1:] {
		c := &r.Contenders[1+i]
		switch {
		case c.web == ours.web:
			r.Ratios = append(r.Ratios, ratio{c.Name, ours.ratioTo(c, pagesPerS), ours.ratioTo(c, cpuPerPage)})
			if c.Peer && c.PagesPerS.Median > best {
				best, fastest = c.PagesPerS.Median, &ratio{"the fastest peer, " + c.Name, r.Ratios[len(r.Ratios)-1].PagesPerS, r.Ratios[len(r.Ratios)-1].CPUPerPage}
			}
		case c.web.Hostile != "":
			var added []float64
			for i := range min(len(c.Rounds), len(ours.Rounds)) {
				added = append(added, float64(c.Rounds[i].PeakRSS-ours.Rounds[i].PeakRSS))
			}
			r.Added = append(r.Added, addedRSS{c.web.Hostile, ours.PeakRSS, c.PeakRSS, spreadOf(added)})
		}
	}
	if fastest != nil {
		r.Ratios = append(r.Ratios, *fastest)
	}
	r.yardstick()
	r.watched()
	if runtime.GOOS == "windows" {
		r.note("on Windows the memory of peers, and the processor time of the parts, are not measured")
	}
}

func (r *result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// judge collects what is wrong with the runs of a contender.
func (r *result) judge(c *rows) {
	for i, x := range c.Rounds {
		found := x.Referee.violations()
		if r.Setup == mirrorTree && x.Files < x.Referee.Expected {
			found = append(found, fmt.Sprintf("%d files in the tree for %d pages", x.Files, x.Referee.Expected))
		}
		for _, what := range found {
			if c.ours() {
				r.Violations = append(r.Violations, fmt.Sprintf("%s, round %d: %s", c.Name, i+1, what))
			}
		}
		if !c.ours() && !c.Peer && (x.Referee.Pages != x.Referee.Expected || x.Referee.Duplicates > 0) {
			r.Void = fmt.Sprintf("%s fetched %d of %d pages, and %d again, in round %d", c.Name, x.Referee.Pages, x.Referee.Expected, x.Referee.Duplicates, i+1)
		}
		if x.Stopped {
			r.note("%s was stopped after %.0f s, after it had requested %d of %d pages; it was not run again", plainly.Lines(c.Name), x.Wall, x.Referee.Pages, x.Referee.Expected)
		}
	}
}

const (
	barePasses = 1.5  // times the processor time of its parts may the bare loop take: a slow one would flatter curtsy
	fewPages   = 1000 // with fewer pages, starting a process counts as much as crawling
)

// yardstick compares the bare loop with its parts.
func (r *result) yardstick() {
	bare := r.named(bareLoop)
	if bare == nil {
		return
	}
	var to []float64
	for i, p := range r.Parts {
		if i < len(bare.Rounds) && p.Fetch+p.Parse > 0 {
			to = append(to, bare.Rounds[i].CPUPerPage/(p.Fetch+p.Parse))
		}
	}
	r.ToParts = spreadOf(to).Median
	switch {
	case r.Pages < fewPages:
		r.note("the bare loop was not compared with its parts: fewer than %d pages show little", fewPages)
	case r.ToParts > 0:
		r.note("the bare loop takes %.2f times the processor time of its parts, fetching and parsing; up to %.1f times it is a good yardstick", r.ToParts, barePasses)
	}
	if r.Pages >= fewPages && r.ToParts > barePasses {
		r.Void = cmp.Or(r.Void, fmt.Sprintf("the bare loop takes %.2f times the processor time of fetching and parsing; a yardstick may take up to %.1f times", r.ToParts, barePasses))
	}
}

// watched reports what an open dashboard costs.
func (r *result) watched() {
	c := r.named(curtsy + ", dashboard")
	if c == nil {
		return
	}
	var updates, scrapes int64
	for i, x := range c.Rounds {
		updates, scrapes = updates+x.Updates, scrapes+x.Scrapes
		if x.Updates < int64(len(openPages)) || x.Scrapes == 0 {
			r.Void = cmp.Or(r.Void, fmt.Sprintf("the dashboard was open for %d updates and %d scrapes in round %d: use more --pages", x.Updates, x.Scrapes, i+1))
		}
	}
	more := c.ratioTo(&r.Contenders[0], cpuPerPage)
	r.note("with its dashboard open in %d browsers (%d updates read) and scraped each second (%d scrapes) a page takes %.3f times the processor time (%.3f-%.3f)",
		len(openPages), updates, scrapes, more.Median, more.Min, more.Max)
}

// verdict is the error that the command ends with.
func (r *result) verdict() error {
	switch {
	case len(r.Violations) > 0:
		return &cli.Error{Code: cli.ExitFound, Err: fmt.Errorf("the servers found a violation, or an incomplete crawl: %s", r.Violations[0])}
	case r.Void != "":
		return fmt.Errorf("the run is void: %s", r.Void)
	case len(r.Checkers) > 0 && (r.Checkers[0].Found < r.Faults || len(r.Checkers[0].Invented) > 0):
		return &cli.Error{Code: cli.ExitFound, Err: errors.New("curtsy linkcheck missed a fault, or reported one that does not exist")}
	}
	return nil
}

// text is the form for people: tables of medians and worst counts.
func (r *result) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Setup)
	if len(r.Contenders) > 0 {
		fmt.Fprintf(&b, ": %s at %s, %d at a time, %s", plainly.Count(r.Pages, "page"), plainly.Count(r.Hosts, "host"), r.Workers, plainly.Count(len(r.Contenders[0].Rounds), "round"))
	}
	if r.Pace > 0 {
		fmt.Fprintf(&b, "\nthe hosts require a delay of %g s, and respond after %g s", r.Pace, latency.Seconds())
	}
	fmt.Fprintf(&b, "\ncurtsy %s, %s, %s, %s\n\n", r.Version, r.Go, r.System, plainly.Count(r.CPUs, "CPU"))
	for _, t := range [][][]string{r.crawlTable(), r.ratioTable(), r.addedTable(), r.stageTable(), r.checkerTable()} {
		if len(t) < 2 {
			continue
		}
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range t {
			fmt.Fprintln(tw, strings.Join(row, "\t"))
		}
		_ = tw.Flush() // a strings.Builder takes everything
		fmt.Fprintln(&b)
	}
	b.WriteString(r.checkerLines())
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "VIOLATION  %s\n", plainly.Lines(v))
	}
	if len(r.Contenders) > 0 && len(r.Violations) == 0 {
		fmt.Fprintln(&b, "the servers found no violation by curtsy in any round")
	}
	if r.Void != "" {
		fmt.Fprintf(&b, "VOID  %s\n", r.Void)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}

// figure writes a number, or - for 0.
func figure(format string, x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

// cells are a median, and minimum to maximum.
func (s spread) cells(format string) []string {
	return []string{fmt.Sprintf(format, s.Median), fmt.Sprintf(format+"-"+format, s.Min, s.Max)}
}

func mib(x float64) string { return figure("%.1f MiB", x/(1<<20)) }

func (r *result) crawlTable() (t [][]string) {
	if len(r.Contenders) == 0 {
		return nil
	}
	head := []string{"PROGRAM", "PAGES/S", "(MIN-MAX)", "CPU MS/PAGE", "(MIN-MAX)", "PEAK RSS", "ALLOCS/PAGE", "CONNS/HOST", "COVERAGE", "DUPLICATES"}
	if r.Pace > 0 {
		head = append(head, "OF PERMITTED", "FROM THE START", "ALL HOSTS MET", "GAPS SHORT")
	}
	if r.Setup == mirrorTree {
		head = append(head, "FILES")
	}
	if r.Setup == growth {
		head = append(head, "URLS KNOWN")
	}
	t = append(t, head)
	for _, c := range r.Contenders {
		worst := func(count func(round) int) int {
			return int(c.spread(func(x round) float64 { return float64(count(x)) }).Max)
		}
		name := plainly.Lines(c.Name)
		if c.stopped() {
			name += " (stopped)"
		}
		row := slices.Concat([]string{name}, c.PagesPerS.cells("%.0f"), c.CPUPerPage.cells("%.3f"), []string{
			mib(c.PeakRSS.Median), figure("%.0f", c.Allocs.Median), fmt.Sprint(worst(func(x round) int { return x.Referee.Connections })),
			fmt.Sprintf("%.4f", c.spread(func(x round) float64 { return x.Referee.Coverage }).Min), fmt.Sprint(worst(func(x round) int { return x.Referee.Duplicates }))})
		if r.Pace > 0 {
			row = append(row, figure("%.4f", c.spread(func(x round) float64 { return x.Referee.Steady }).Median),
				fmt.Sprintf("%.4f", c.spread(func(x round) float64 { return x.Referee.OfPermitted }).Median),
				fmt.Sprintf("%.1f s", c.spread(func(x round) float64 { return x.Referee.MetAfter }).Max),
				fmt.Sprintf("%d of %d", worst(func(x round) int { return x.Referee.Short }), worst(func(x round) int { return x.Referee.Gaps })))
		}
		if r.Setup == mirrorTree {
			row = append(row, fmt.Sprint(c.spread(func(x round) float64 { return float64(x.Files) }).Min))
		}
		if r.Setup == growth {
			row = append(row, fmt.Sprint(worst(func(x round) int { return x.Referee.Known })))
		}
		t = append(t, row)
	}
	return t
}

func (r *result) ratioTable() [][]string {
	t := [][]string{{"CURTSY DIVIDED BY", "PAGES/S", "(MIN-MAX)", "CPU/PAGE", "(MIN-MAX)"}}
	for _, q := range r.Ratios {
		t = append(t, slices.Concat([]string{plainly.Lines(q.To)}, q.PagesPerS.cells("%.2f"), q.CPUPerPage.cells("%.2f")))
	}
	return t
}

func (r *result) addedTable() [][]string {
	t := [][]string{{"HOSTILE", "PEAK RSS WITHOUT", "WITH", "ADDED", "(MIN-MAX)"}}
	for _, a := range r.Added {
		t = append(t, []string{a.Of, mib(a.Without.Median), mib(a.With.Median), mib(a.Added.Median), fmt.Sprintf("%.1f-%.1f", a.Added.Min/(1<<20), a.Added.Max/(1<<20))})
	}
	return t
}
