package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawldir"
	"curtsy/frontier/canon"
)

// job is what a process of this program does, given as JSON to the hidden command child.
type job struct {
	Do      string    // web, crawl or bare
	Web     webConfig // of web
	Args    []string  // of crawl
	Seeds   []string
	Workers int    // of bare
	Most    int    // pages of bare; 0 = all
	Tuned   bool   // bare has the collector's setting of a crawl
	Profile string // file for the profile of a crawl; empty for none
	Out     string // file for the result
}

func (j *job) words() []string {
	text, err := json.Marshal(j)
	if err != nil {
		panic(err) // a job has nothing that JSON lacks
	}
	return []string{"child", string(text)}
}

func newChild(std cli.Streams) *cobra.Command {
	return &cobra.Command{Use: "child JOB", Hidden: true, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		var j job
		if err := json.Unmarshal([]byte(args[0]), &j); err != nil {
			return cli.Usagef("%w", err)
		}
		if j.Do == "web" {
			return serveWeb(j.Web, std)
		}
		for _, seed := range j.Seeds { // the bare loop observes no delay
			if u, err := canon.Parse(seed); err != nil || !u.Authority().Loopback() {
				return cli.Usagef("%q: bench crawls loopback only", seed)
			}
		}
		out, err := j.run(cmd.Context(), std)
		if err != nil {
			return err
		}
		text, err := json.Marshal(out)
		if err != nil {
			return err
		}
		return os.WriteFile(j.Out, text, 0o600)
	}}
}

// run returns what the job measured.
func (j *job) run(ctx context.Context, std cli.Streams) (any, error) {
	switch j.Do {
	case "crawl":
		err := j.crawl(ctx, std)
		return ownStats(), err
	case "bare":
		if j.Tuned {
			defer cli.Tune(crawldir.Defaults().MemoryLimit)()
		}
		_, err := runBare(ctx, j.Seeds, j.Workers, j.Most)
		return ownStats(), err
	}
	return nil, cli.Usagef("no job %q", j.Do)
}

func (j *job) crawl(ctx context.Context, std cli.Streams) error {
	crawl := crawlcmd.New(std)
	crawl.SetArgs(j.Args)
	crawl.SilenceErrors, crawl.SilenceUsage = true, true
	if j.Profile == "" {
		return crawl.ExecuteContext(ctx)
	}
	var cpu, allocs bytes.Buffer
	runtime.MemProfileRate = 16 << 10
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		return err
	}
	err := crawl.ExecuteContext(ctx)
	pprof.StopCPUProfile()
	runtime.GC() // the profile has what was allocated until the last collection
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(&allocs, 0), os.WriteFile(j.Profile, cpu.Bytes(), 0o666),
		os.WriteFile(strings.TrimSuffix(j.Profile, ".pprof")+".allocs.pprof", allocs.Bytes(), 0o666))
}

// childStats is what only the process itself can measure.
type childStats struct {
	Mallocs uint64
	PeakRSS int64 // 0 = unknown
}

func ownStats() childStats {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return childStats{m.Mallocs, peakRSS()}
}

// peakRSS is the maximum resident memory of this process from /proc (Linux); 0 elsewhere.
func peakRSS() (kib int64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	if _, after, ok := strings.Cut(string(text), "VmHWM:"); ok {
		_, _ = fmt.Sscan(after, &kib) // 0 otherwise
	}
	return kib << 10
}
