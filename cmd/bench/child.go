package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/frontier/model"
	"curtsy/storage/plainly"
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

// SaveStats writes what this process took so far.
func SaveStats(path string) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b, err := json.Marshal(childStats{m.Mallocs, m.TotalAlloc, m.NumGC, peakRSS()})
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// InMemory opens a frontier that keeps nothing, with the seeds of the file. It is what a durable one is compared with.
func InMemory(ctx context.Context) func(path string, o frontier.Options) (frontier.Frontier, error) {
	return func(path string, o frontier.Options) (frontier.Frontier, error) {
		f, err := engine.Open(path, frontier.Options{})
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
		m := model.New(frontier.Options{}) // not o: its commits wait until the directory is open, and Add waits for them
		if _, err = m.Add(ctx, cs); err == nil {
			err = m.Close()
		}
		return m.Reopen(o), err
	}
}

// Bare crawls from seeds with a loop that keeps nothing, and stops after so many pages; 0 means at the end.
func Bare(ctx context.Context, seeds []string, workers, most int) error {
	_, err := runBare(ctx, seeds, workers, most)
	return err
}

// Seeds reads the seeds of a bench. They are of loopback, all of them: the bare loop has no manners.
func Seeds(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("%w", err)
	}
	seeds := strings.Fields(string(b))
	for _, seed := range seeds {
		if u, err := canon.Parse(seed); err != nil || !u.Authority().Loopback() {
			return nil, usagef("%s: bench goes to loopback and nowhere else", plainly.Lines(seed))
		}
	}
	return seeds, nil
}
