package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
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
		{"parse", stack(1, "runtime.mallocgc", "golang.org/x/net/html.(*parser).addText", "curtsy/crawler/extract.(*Extractor).HTML", "curtsy/crawler.(*Crawl).page")},
		{"canonicalise", stack(2, "curtsy/frontier/canon.parse", "curtsy/crawler/extract.collect", "curtsy/crawler.(*Crawl).page")},
		{"collector", stack(4, "runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker.func2", "runtime.systemstack")},
		{"collector", stack(8, "runtime.gcDrainN", "runtime.gcAssistAlloc1", "runtime.mallocgc", "golang.org/x/net/html.Parse")},
		{"archive", stack(16, "crypto/sha1.block", "curtsy/storage/warc.(*Writer).Record", "curtsy/crawler.(*Crawl).record")},
		{"frontier", stack(32, "github.com/klauspost/compress/zstd.encode", "go.etcd.io/bbolt.(*Tx).Commit", "curtsy/frontier/bolt.(*Frontier).commit")},
		{"story", stack(64, "strings.Index", "curtsy/crawler.(*Crawl).story")},
		{"scheduler", stack(128, "runtime.futex", "runtime.findRunnable", "runtime.mcall")},
		{"rest", stack(256, "sync.(*Pool).pinSlow", "runtime.goexit")},
		{"gate", stack(512, "curtsy/robots.(*Rulebook).Match", "curtsy/crawler/gate.Rules.Judge", "curtsy/crawler.bounds.judge")},
		{"fetch", stack(1024, "internal/runtime/syscall.Syscall6", "net.(*conn).Read", "net/http.(*persistConn).readLoop")},
		{"ledger", stack(2048, "memmove < curtsy/storage/ledger.appendLine < curtsy/storage/ledger.(*Writer).Append", "curtsy/crawler.(*Crawl).write")},
		{"traps", stack(4096, "curtsy/crawler/trap.(*Digester).Write", "curtsy/crawler/extract.text")},
		{"scope", stack(8192, "curtsy/crawler/scope.(*Scope).Decide", "curtsy/crawler.(*Crawl).found")},
		{"parse", stack(0, "memmove", "curtsy/crawler/extract/prune.(*pruner).Read", "curtsy/crawler.(*linker).links")},
		{"frontier", stack(0, "memmove", "curtsy/frontier/bolt/seen.(*Set).Add", "curtsy/crawler.(*Crawl).finish")},
		{"story", stack(0, "curtsy/crawler/record.(*Writer).Write")},
		{"mirror", stack(16384, "syscall.openat", "curtsy/storage/mirror.Build", "main.buildTree")},
		{"scheduler", stack(32768)},
	} {
		assert.Equal(t, x.of, stageOf(x.stack), x.stack.Location)
		p.Sample = append(p.Sample, x.stack)
	}
	s, err := attribute(p, 2)
	total := 0.0
	for _, ms := range s {
		total += ms
	}
	if err != nil || s["collector"] != 6 || s["scheduler"] != (128+32768)/2 || math.Abs(total-65535.0/2) > 1e-6 {
		t.Errorf("%v, %v", s, err)
	}
	p.SampleType = p.SampleType[:1]
	if _, err := attribute(p, 2); err == nil {
		t.Error("a profile without processor time is taken")
	}
}

// A package that moved, or is new, still belongs to a stage: each that stages names exists.
func TestStages_NamePackagesThatExist(t *testing.T) {
	for _, row := range stageRows {
		for _, pkg := range row.packages {
			if files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*")); err != nil || len(files) == 0 {
				t.Errorf("%s has package %s, which does not exist: %v", row.name, pkg, err)
			}
		}
	}
}
