package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/crawler/extract/bare"
	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/canon"
	"curtsy/frontier/model"
)

// What bench measures runs in processes of its own, so that processor time and memory are told apart. They are hidden
// commands of this program.

// childStats is what only the process itself knows of what it took.
type childStats struct {
	Mallocs    uint64 `json:"mallocs"`
	AllocBytes uint64 `json:"alloc_bytes"`
	GCs        uint32 `json:"gcs"`
	PeakRSS    int64  `json:"peak_rss_bytes"` // 0 where the system does not tell
}

// saveStats writes what this process took so far.
func saveStats(path string) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b, err := json.Marshal(childStats{m.Mallocs, m.TotalAlloc, m.NumGC, peakRSS()})
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

func newBenchCrawl(std stdio) *cobra.Command {
	var stats, profile string
	var volatile bool
	cmd := &cobra.Command{
		Use:    "crawl [flags] -- ARGS",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] != "crawl" {
				return usagef("bench crawl is for curtsy bench alone")
			}
			w := world{}
			if volatile {
				w.open = inMemory(cmd.Context())
			}
			crawl := newCrawlIn(w, std)
			crawl.SetArgs(args[1:])
			crawl.SilenceErrors, crawl.SilenceUsage = true, true
			stop, err := profiled(profile)
			if err != nil {
				return err
			}
			err = crawl.ExecuteContext(cmd.Context())
			return errors.Join(err, stop(), saveStats(stats))
		},
	}
	cmd.Flags().StringVar(&stats, "stats", "", "`FILE`")
	cmd.Flags().StringVar(&profile, "profile", "", "`FILE`")
	cmd.Flags().BoolVar(&volatile, "model", false, "")
	return cmd
}

// inMemory opens a frontier that keeps nothing, with the seeds of the file. It is what a durable one is compared with.
func inMemory(ctx context.Context) frontierOpener {
	return func(path string, o frontier.Options) (frontier.Frontier, error) {
		f, err := bolt.Open(path, frontier.Options{})
		if err != nil {
			return nil, err
		}
		seeds, err := frontier.SeedsOf(ctx, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		var cs []frontier.Candidate
		for _, s := range seeds {
			cs = append(cs, frontier.Candidate{URL: s.URL, Kind: frontier.KindSeed, Tag: s.Tag})
		}
		m := model.New(o)
		_, err = m.Add(ctx, cs)
		return m, err
	}
}

func newBenchBare(stdio) *cobra.Command {
	var stats, seeds string
	var workers, most int
	var memory size
	cmd := &cobra.Command{
		Use:    "bare [flags]",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := benchSeeds(seeds)
			if err != nil {
				return err
			}
			stop := tuneMemory(int64(memory))
			_, err = bare.Run(cmd.Context(), from, workers, most)
			stop()
			return errors.Join(err, saveStats(stats))
		},
	}
	cmd.Flags().StringVar(&stats, "stats", "", "`FILE`")
	cmd.Flags().StringVar(&seeds, "seeds", "", "`FILE`")
	cmd.Flags().IntVar(&workers, "workers", 1, "`N`")
	cmd.Flags().IntVar(&most, "max-pages", 0, "`N`")
	cmd.Flags().Var(&memory, "memory-limit", "`SIZE`")
	return cmd
}

// benchSeeds reads the seeds of a bench. They are of loopback, all of them: the bare loop has no manners.
func benchSeeds(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("%w", err)
	}
	seeds := strings.Fields(string(b))
	for _, seed := range seeds {
		if u, err := canon.Parse(seed); err != nil || !loopback(u.Authority()) {
			return nil, usagef("%s: bench goes to loopback and nowhere else", plain(seed))
		}
	}
	return seeds, nil
}
