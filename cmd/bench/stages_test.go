package main

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// stack is a sample of a number of ms, with functions from the innermost to the outermost; those joined by " < " are inlined
// into one place.
func stack(ms int64, functions ...string) *profile.Sample {
	x := &profile.Sample{Value: []int64{1, ms * 1e6}}
	for _, place := range functions {
		location := &profile.Location{}
		for name := range strings.SplitSeq(place, " < ") {
			location.Line = append(location.Line, profile.Line{Function: &profile.Function{Name: name}})
		}
		x.Location = append(x.Location, location)
	}
	return x
}

// A sample belongs to the innermost function that is of a stage; the collector is apart, whoever it works for.
func TestStages_ASampleBelongsToItsInnermostStage(t *testing.T) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	for _, x := range []struct {
		of    string
		stack *profile.Sample
	}{
		{stageParse, stack(1, "runtime.mallocgc", "golang.org/x/net/html.(*parser).addText", "curtsy/crawler/extract.(*Extractor).HTML", "curtsy/crawler.(*Crawl).page")},
		{stageCanon, stack(2, "curtsy/frontier/canon.parse", "curtsy/crawler/extract.collect", "curtsy/crawler.(*Crawl).page")},
		{stageCollector, stack(4, "runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker.func2", "runtime.systemstack")},
		{stageCollector, stack(8, "runtime.gcDrainN", "runtime.gcAssistAlloc1", "runtime.mallocgc", "golang.org/x/net/html.Parse")},
		{stageArchive, stack(16, "crypto/sha1.block", "curtsy/storage/warc.(*Writer).Record", "curtsy/crawler.(*Crawl).record")},
		{stageFrontier, stack(32, "github.com/klauspost/compress/zstd.encode", "go.etcd.io/bbolt.(*Tx).Commit", "curtsy/frontier/bolt.(*Frontier).commit")},
		{stageStory, stack(64, "strings.Index", "curtsy/crawler.(*Crawl).story")},
		{stageScheduler, stack(128, "runtime.futex", "runtime.findRunnable", "runtime.mcall")},
		{stageRest, stack(256, "sync.(*Pool).pinSlow", "runtime.goexit")},
		{stageGate, stack(512, "curtsy/robots.(*Rulebook).Match", "curtsy/crawler/gate.Rules.Judge", "curtsy/crawler.bounds.judge")},
		{stageFetch, stack(1024, "internal/runtime/syscall.Syscall6", "net.(*conn).Read", "net/http.(*persistConn).readLoop")},
		{stageLedger, stack(2048, "memmove < curtsy/storage/ledger.appendLine < curtsy/storage/ledger.(*Writer).Append", "curtsy/crawler.(*Crawl).write")},
		{stageTraps, stack(4096, "curtsy/crawler/trap.(*Digester).Write", "curtsy/crawler/extract.text")},
		{stageScope, stack(8192, "curtsy/crawler/scope.(*Scope).Decide", "curtsy/crawler.(*Crawl).found")},
		{stageParse, stack(0, "memmove", "curtsy/crawler/extract/prune.(*pruner).Read", "curtsy/crawler.(*linker).links")},
		{stageFrontier, stack(0, "memmove", "curtsy/frontier/bolt/seen.(*Set).Add", "curtsy/crawler.(*Crawl).finish")},
		{stageStory, stack(0, "curtsy/crawler/record.(*Writer).Write")},
		{stageMirror, stack(16384, "syscall.openat", "curtsy/storage/mirror.Build", "main.buildTree")},
		{stageScheduler, stack(32768)},
	} {
		if got := stageOf(x.stack); got != x.of {
			t.Errorf("%+v: %s, want %s", x.stack.Location, got, x.of)
		}
		p.Sample = append(p.Sample, x.stack)
	}
	s, err := attribute(p, 2)
	total := 0.0
	for _, ms := range s {
		total += ms
	}
	if err != nil || s[stageCollector] != 6 || s[stageScheduler] != (128+32768)/2 || math.Abs(total-65535.0/2) > 1e-6 {
		t.Errorf("%v, %v", s, err)
	}
	p.SampleType = p.SampleType[:1]
	if _, err := attribute(p, 2); err == nil {
		t.Error("a profile without processor time is taken")
	}
}

// A package that moved, or is new, still belongs to a stage: each that stages names exists.
func TestStages_NamePackagesThatExist(t *testing.T) {
	for _, row := range stageRows() {
		for _, pkg := range row.packages {
			if files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*")); err != nil || len(files) == 0 {
				t.Errorf("%s has package %s, which does not exist: %v", row.name, pkg, err)
			}
		}
	}
}

// The table has the stages that took anything, with their shares, in one order.
func TestStages_AreMedianOfRoundsAndPrinted(t *testing.T) {
	c := rows(nameCurtsy, 1, 1, 1)
	for i, ms := range []float64{3, 1, 2} {
		c.Rounds[i].Stages = stages{stageParse: ms, stageFetch: 1}
	}
	r := Result{Contenders: []Rows{c}}
	r.conclude(&Plan{})
	var b bytes.Buffer
	if err := r.stageTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"STAGE OF CURTSY", "fetch            1.0000       33.3 %", "parse            2.0000       66.7 %", "in the profile   3.0000       300.0 % of all"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
}
