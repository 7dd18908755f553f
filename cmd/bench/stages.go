package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/google/pprof/profile"

	"curtsy/storage/plainly"
)

// Where processor time goes is read from a profile. A sample is a stack of functions; it belongs to the stage of the
// innermost of them that is of a stage, so that hashing a record counts as archive, and reading a link's URL as
// canonicalise though the parser asked for it. The collector interrupts whoever allocates and runs beside them all: it is a
// stage of its own, whoever made the garbage.

// The stages.
const (
	stageFetch     = "fetch"
	stageParse     = "parse"
	stageCanon     = "canonicalise"
	stageScope     = "scope"
	stageTraps     = "traps" // digests of text, by which copies are known
	stageFrontier  = "frontier"
	stageGate      = "gate"
	stageArchive   = "archive"
	stageLedger    = "ledger"
	stageMirror    = "mirror"
	stageCollector = "collector"
	stageStory     = "story"     // the crawler's own code between the stages
	stageScheduler = "scheduler" // goroutines switched, timers, the poller: no function but the runtime's
	stageRest      = "rest"
)

// stages is CPU ms per page by stage.
type stages map[string]float64

// stageRow is a stage with the packages of ours whose functions are of it, those below them included, and with the
// beginnings of the names of other functions.
type stageRow struct {
	name     string
	packages []string
	prefixes []string
}

// stageRows are in the order in which they are printed. Of what fits the longest counts.
func stageRows() []stageRow {
	return []stageRow{
		{stageFetch, []string{"crawler/fetch"}, []string{"net/http.", "net."}},
		{stageParse, []string{"crawler/extract", "storage/markup", "storage/charset"},
			[]string{"golang.org/x/net/html.", "golang.org/x/net/html/", "github.com/PuerkitoBio/goquery."}},
		{stageCanon, []string{"frontier/canon"}, []string{"net/url."}},
		{stageScope, []string{"crawler/scope", "crawler/optout"}, nil},
		{stageTraps, []string{"crawler/trap"}, nil},
		{stageFrontier, []string{"frontier"}, []string{"go.etcd.io/bbolt."}},
		{stageGate, []string{"robots", "crawler/gate", "crawler/hostlock"}, nil},
		{stageArchive, []string{"storage/warc", "frontier/durable", "storage/cdxj", "storage/sorted", "storage/spool"}, nil},
		{stageLedger, []string{"storage/ledger"}, nil},
		{stageMirror, []string{"storage/mirror"}, nil},
		{stageCollector, nil, []string{"runtime.gcBgMarkWorker", "runtime.gcAssist", "runtime.gcStart", "runtime.gcDrain",
			"runtime.gcMark", "runtime.bgsweep", "runtime.bgscavenge", "runtime.(*sweepLocked)", "runtime.deductSweepCredit",
			"runtime.gcWriteBarrier", "runtime.wbBuf"}},
		{stageStory, []string{"crawler", "storage", "cmd"}, []string{"main."}},
		{stageScheduler, nil, nil},
		{stageRest, nil, nil},
	}
}

// stagesOf reads a profile of a crawl of so many pages.
func stagesOf(path string, pages int) (stages, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	p, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("bench: read the profile %s: %w", path, err)
	}
	return attribute(p, pages)
}

// attribute gives each sample of processor time to a stage.
func attribute(p *profile.Profile, pages int) (stages, error) {
	at := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == "cpu" && v.Unit == "nanoseconds" })
	if at < 0 {
		return nil, fmt.Errorf("bench: the profile is not one of processor time")
	}
	s := stages{}
	for _, row := range stageRows() {
		s[row.name] = 0
	}
	for _, x := range p.Sample {
		s[stageOf(x)] += float64(x.Value[at]) / 1e6 / float64(max(pages, 1))
	}
	return s, nil
}

// stageOf is the stage of a sample.
func stageOf(x *profile.Sample) string {
	others := false                       // functions beside the runtime's
	for _, location := range x.Location { // the innermost first, and of what is inlined likewise
		for _, line := range location.Line {
			if line.Function == nil {
				continue
			}
			name := line.Function.Name
			if stage := stageFor(name); stage != "" {
				return stage
			}
			others = others || !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/runtime/")
		}
	}
	if others {
		return stageRest
	}
	return stageScheduler
}

// stageFor is the stage of a function; empty if it is of none.
func stageFor(function string) (stage string) {
	ours, ok := strings.CutPrefix(function, "curtsy/")
	longest := 0
	for _, row := range stageRows() {
		for _, pkg := range row.packages {
			below, of := strings.CutPrefix(ours, pkg)
			if ok && of && len(pkg) > longest && (strings.HasPrefix(below, ".") || strings.HasPrefix(below, "/")) {
				stage, longest = row.name, len(pkg)
			}
		}
		for _, prefix := range row.prefixes {
			if len(prefix) > longest && strings.HasPrefix(function, prefix) {
				stage, longest = row.name, len(prefix)
			}
		}
	}
	return stage
}

// medianStages is the median of rounds, stage by stage.
func medianStages(rounds []Round) stages {
	if len(rounds) == 0 || rounds[0].Stages == nil {
		return nil
	}
	all := stages{}
	for name := range rounds[0].Stages {
		var xs []float64
		for _, x := range rounds {
			xs = append(xs, x.Stages[name])
		}
		all[name] = spreadOf(xs).Median
	}
	return all
}

// stageTable prints what each stage of curtsy takes.
func (r *Result) stageTable(w io.Writer) error {
	for _, c := range r.Contenders {
		if c.Stages == nil {
			continue
		}
		total := 0.0
		for _, name := range slices.Sorted(maps.Keys(c.Stages)) {
			total += c.Stages[name]
		}
		fmt.Fprintln(w)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(tw, "STAGE OF %s\tCPU MS/PAGE\tSHARE\n", strings.ToUpper(plainly.Lines(c.Name)))
		for _, row := range stageRows() {
			if x := c.Stages[row.name]; x > 0 {
				fmt.Fprintf(tw, "%s\t%.4f\t%.1f %%\n", row.name, x, 100*x/total)
			}
		}
		fmt.Fprintf(tw, "in the profile\t%.4f\t%.1f %% of all that the process took\n", total, 100*total/cmp.Or(c.CPUPerPage.Median, 1))
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}
