package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier/engine"
	"curtsy/storage/plainly"
)

// Bounds of an answer.
const (
	hostsPatience = 2 * time.Second // for which hosts are looked for
	mostHosts     = 200
	mostEntries   = 10_000 // of a folder that are looked at
)

// crawls are the crawl directories whose paths begin as given.
func crawls(begun string) (all []string) {
	before, name := filepath.Split(begun)
	in := before
	if in == "" {
		in = "."
	}
	folder, err := os.Open(in)
	if err != nil {
		return nil
	}
	defer folder.Close()
	for looked := 0; looked < mostEntries; {
		entries, err := folder.ReadDir(1000)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), name) && isCrawl(filepath.Join(in, e.Name())) && plainly.OneLine(e.Name()) == e.Name() {
				all = append(all, before+e.Name())
			}
		}
		looked += len(entries)
		if err != nil { // the end, as a rule
			break
		}
	}
	slices.Sort(all)
	return all
}

// isCrawl reports whether a folder is a crawl directory, by what is in it.
func isCrawl(dir string) bool {
	fi, err := os.Stat(filepath.Join(dir, crawldir.FrontierName))
	return err == nil && fi.Mode().IsRegular()
}

// hosts are names of hosts of the crawl in dir.
func hosts(ctx context.Context, dir string, n control.Names) []string {
	if !isCrawl(dir) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostsPatience)
	defer cancel()
	answer := make(chan []string, 1)
	// The opening of a large frontier cannot be cancelled. One that takes too long is left to the end of the process,
	// which is near: it reads only.
	go func() {
		found, err := named(ctx, dir, n)
		if err != nil {
			found = nil
		}
		answer <- found
	}()
	select {
	case found := <-answer:
		return found
	case <-ctx.Done():
		return nil
	}
}

// named asks the running crawl, or reads the frontier of one that is stopped.
func named(ctx context.Context, dir string, n control.Names) (found []string, err error) {
	remote, err := control.Connect(ctx, dir)
	if err == nil {
		return remote.Named(ctx, n)
	}
	f, err := engine.OpenReadOnly(dir)
	if err != nil {
		return nil, err
	}
	found, err = control.Named(ctx, f, n)
	return found, errors.Join(err, f.Close())
}
