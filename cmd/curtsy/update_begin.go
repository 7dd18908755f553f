package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/host"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// A generation begins with a frontier of its own. It is built beside the old one, whose lock is held all the while, and
// takes its name in one step: killed before, a crawl is as it was, and killed after, it is an update that resume goes on
// with. The number of the generation is in the frontier itself, so that nothing can contradict it.

// nextName is the new frontier while it is built.
const nextName = crawldir.FrontierName + ".update"

// oldFrontier is the name under which the frontier of a generation is kept until the next one is finished.
func oldFrontier(generation int64) string { return fmt.Sprintf("frontier-%03d.db", generation) }

// beginGeneration begins the next generation of the ended crawl in dir. before is called once nothing but the new
// frontier's name is missing.
func beginGeneration(ctx context.Context, dir string, before func() error) (g totals.Generation, err error) {
	opened, err := mustHaveEnded(ctx, dir)
	if err != nil {
		return g, err
	}
	rest, err := openAtRest(ctx, dir)
	if err != nil {
		return g, err
	}
	old := rest.Frontier
	closed := false
	defer func() {
		if err != nil {
			_ = removeNext(dir) // on a full disk there is better use for its room
		}
		if !closed {
			err = errors.Join(err, old.Close())
		}
	}()
	stats, err := old.Stats(ctx)
	if err != nil {
		return g, err
	}
	if stats.Restarts != opened+1 {
		return g, fmt.Errorf("%s was in use a moment ago: give the command again", dir)
	}
	done := stats.Queued+stats.InFlight+stats.Deferred == 0
	if g, err = nextGeneration(ctx, dir, totals.GenerationOf(stats.Counts), done); err != nil {
		return g, err
	}
	if err := buildNext(ctx, dir, old, g); err != nil {
		return g, err
	}
	if err := before(); err != nil {
		return g, err
	}
	keep := inDir(dir, oldFrontier(g.Number-1))
	if err := os.Remove(keep); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return g, fmt.Errorf("crawl directory: %w", err)
	}
	_ = os.Link(inDir(dir, crawldir.FrontierName), keep) // a convenience: where there are no hard links, it is not kept
	if runtime.GOOS == "windows" {                       // where no open file is replaced
		closed = true
		if err := old.Close(); err != nil {
			return g, err
		}
	}
	if err := os.Rename(inDir(dir, nextName), inDir(dir, crawldir.FrontierName)); err != nil {
		return g, fmt.Errorf("crawl directory: %w", err)
	}
	return g, durable.Names(dir)
}

// mustHaveEnded refuses a crawl that resume would go on with, and returns how often its frontier was opened before.
func mustHaveEnded(ctx context.Context, dir string) (restarts int64, err error) {
	var s settings
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.flags(flags)
	if err := resolve(&s, flags, "", inDir(dir, crawldir.ConfigName)); err != nil {
		return 0, err
	}
	err = reading(ctx, dir, func(ctx context.Context, f frontier.Stored) error {
		st, err := f.Stats(ctx)
		if err != nil {
			return err
		}
		restarts = st.Restarts
		spent := s.MaxPages > 0 && st.Counts[totals.Pages] >= s.MaxPages ||
			s.MaxBytes > 0 && st.Counts[totals.Bytes] >= s.MaxBytes
		if st.Queued+st.InFlight+st.Deferred == 0 || spent {
			return nil
		}
		for h, err := range hostsOf(ctx, f) {
			if err != nil {
				return err
			}
			if h.Queued+h.InFlight+h.Deferred > 0 && h.Condition == frontier.Open && h.Hold.Act == 0 && h.Wait <= s.MaxWait {
				return usagef("the crawl in %s has not ended: go on with curtsy resume %s, and update it then", dir, word(dir))
			}
		}
		return nil
	})
	return restarts, err
}

// hostsOf yields all hosts of a frontier.
func hostsOf(ctx context.Context, f frontier.Reader) iter.Seq2[frontier.Host, error] {
	return func(yield func(frontier.Host, error) bool) {
		const page = 10_000
		var after canon.Authority
		for {
			hosts, err := f.Hosts(ctx, after, page)
			if err != nil {
				yield(frontier.Host{}, err)
				return
			}
			for _, h := range hosts {
				if !yield(h, nil) {
					return
				}
			}
			if len(hosts) < page {
				return
			}
			after = hosts[page-1].Authority
		}
	}
}

// nextGeneration is what follows g. It begins after the last line of the ledger, whatever the clock says. Of a g that is
// not done, what it did not come to is what its own generation before had: the next one is compared with both.
func nextGeneration(ctx context.Context, dir string, g totals.Generation, done bool) (totals.Generation, error) {
	next := totals.Generation{Number: g.Number + 1, Began: time.Now(), Before: g.Lines}
	if !done {
		next.Before = g.Before
	}
	for l, err := range decisions(inDir(dir, crawldir.LedgerName)) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return next, err
		}
		next.Lines++
		if !l.Time.Before(next.Began) {
			next.Began = l.Time.Add(time.Microsecond)
		}
	}
	next.Began = next.Began.UTC().Truncate(time.Microsecond)
	return next, nil
}

// decisions yields the lines of a ledger that can be read; an error is one of the file system, and the last.
func decisions(dir string) iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		for l, err := range ledger.Read(dir) {
			var system *fs.PathError
			switch {
			case errors.As(err, &system):
				yield(l, err)
				return
			case err != nil: // a damaged line; curtsy audit is for these
			case !yield(l, nil):
				return
			}
		}
	}
}

// removeNext removes a next frontier that has not taken its place, and what was to become one.
func removeNext(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), nextName) {
			err = errors.Join(err, os.Remove(inDir(dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// buildNext builds the next frontier beside the old one, which is open and ours.
func buildNext(ctx context.Context, dir string, old frontier.Reader, g totals.Generation) error {
	path := inDir(dir, nextName)
	if err := removeNext(dir); err != nil { // what a kill left
		return err
	}
	next, stop := iter.Pull2(nextItems(ctx, old, g))
	defer stop()
	err := engine.Import(path, func() (frontier.Item, error) {
		item, err, ok := next()
		if !ok {
			return item, io.EOF
		}
		return item, err
	})
	if err != nil {
		return err
	}
	seeds, err := frontier.SeedsOf(ctx, old)
	if err != nil {
		return err
	}
	f, err := engine.Open(path, frontier.Options{})
	if err != nil {
		return err
	}
	var given []frontier.Candidate
	for _, s := range seeds {
		if s.From == "" { // where a seed redirected to is found again
			given = append(given, frontier.Candidate{URL: s.URL, Kind: frontier.KindSeed, Seed: s.URL.String(), Tag: s.Tag})
		}
	}
	_, err = f.Add(ctx, given)
	return errors.Join(err, f.Close())
}

// nextItems are the parts of the next frontier: the hosts with what politeness needs, and nothing of what was found.
func nextItems(ctx context.Context, old frontier.Reader, g totals.Generation) iter.Seq2[frontier.Item, error] {
	return func(yield func(frontier.Item, error) bool) {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // it never fails
		stats, err := old.Stats(ctx)
		if err != nil {
			yield(frontier.Item{}, err)
			return
		}
		if !yield(frontier.Item{Head: &frontier.Head{Secret: secret, Openings: stats.Restarts + 1}}, nil) {
			return
		}
		for body, err := range policiesOf(ctx, old) {
			if !yield(frontier.Item{Blob: body}, err) {
				return
			}
		}
		for h, err := range hostsOf(ctx, old) {
			if err == nil {
				h, err = host.NextGeneration(h)
			}
			if !yield(frontier.Item{Host: &h}, err) {
				return
			}
		}
		yield(frontier.Item{Totals: &frontier.Totals{Counts: g.Counts()}}, nil)
	}
}

// policiesOf yields the robots.txt files that hosts have, each once.
func policiesOf(ctx context.Context, f frontier.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		met := map[[32]byte]bool{}
		for h, err := range hostsOf(ctx, f) {
			var state robots.State
			if err == nil && len(h.Robots) > 0 {
				err = state.UnmarshalBinary(h.Robots)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			sum, ok := state.Body()
			if !ok || met[sum] {
				continue
			}
			met[sum] = true
			body, err := f.Blob(ctx, sum)
			if errors.Is(err, frontier.ErrNoBlob) { // that of an empty file is not kept
				continue
			}
			if !yield(body, err) {
				return
			}
		}
	}
}
