package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// A sample of a profile is a stack of functions. It belongs to the innermost function that has a stage: hashing a record
// counts as archive, and parsing a link's URL as canonicalise though the HTML parser called it. The collector is a stage of
// its own, whoever allocated.

// stages is CPU ms per page by stage.
type stages map[string]float64

// stageRow is a stage with the packages of ours whose functions are of it, those below them included, and with the
// beginnings of the names of other functions.
type stageRow struct {
	name     string
	packages []string
	prefixes []string
}

// stageRows are in the order in which they are printed. The longest match counts.
var stageRows = []stageRow{
	{"fetch", []string{"crawler/fetch"}, []string{"net/http.", "net."}},
	{"parse", []string{"crawler/extract", "storage/markup", "storage/charset"},
		[]string{"golang.org/x/net/html.", "golang.org/x/net/html/", "github.com/PuerkitoBio/goquery."}},
	{"canonicalise", []string{"frontier/canon"}, []string{"net/url."}},
	{"scope", []string{"crawler/scope", "storage/optout"}, nil},
	{"traps", []string{"crawler/trap"}, nil},
	{"frontier", []string{"frontier"}, []string{"go.etcd.io/bbolt."}},
	{"gate", []string{"robots", "crawler/gate", "crawler/hostlock"}, nil},
	{"archive", []string{"storage/warc", "frontier/durable", "storage/cdxj", "storage/sorted", "storage/spool"}, nil},
	{"ledger", []string{"storage/ledger"}, nil},
	{"mirror", []string{"storage/mirror"}, nil},
	{"collector", nil, []string{"runtime.gcBgMarkWorker", "runtime.gcAssist", "runtime.gcStart", "runtime.gcDrain",
		"runtime.gcMark", "runtime.bgsweep", "runtime.bgscavenge", "runtime.(*sweepLocked)", "runtime.deductSweepCredit",
		"runtime.gcWriteBarrier", "runtime.wbBuf"}},
	{"story", []string{"crawler", "storage", "cmd"}, []string{"main."}},
	{"scheduler", nil, nil},
	{"rest", nil, nil},
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
	for _, row := range stageRows {
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
		return "rest"
	}
	return "scheduler"
}

// stageFor is the stage of a function; empty if it is of none.
func stageFor(function string) (stage string) {
	ours, ok := strings.CutPrefix(function, "curtsy/")
	longest := 0
	for _, row := range stageRows {
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
func medianStages(rounds []round) stages {
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

// StageRow is a line of the table of stages.
type StageRow struct {
	Name string
	CPU  float64 // ms per page
}

// StageRows are what the stages of a contender take, in the order of the table.
func (c rows) StageRows() (all []StageRow) {
	for _, row := range stageRows {
		if x := c.Stages[row.name]; x > 0 {
			all = append(all, StageRow{row.name, x})
		}
	}
	return all
}

// InProfile is the processor time in the profile, in ms per page.
func (c rows) InProfile() (sum float64) {
	for _, x := range c.Stages {
		sum += x
	}
	return sum
}
