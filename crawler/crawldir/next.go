package crawldir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/robots"
)

// nextGeneration is what follows g. It begins after the last line of the ledger, whatever the clock says. Of a g that is
// not done, and of a round, what it did not come to is what its own generation before had: the next one is compared with both.
func nextGeneration(ctx context.Context, dir string, g budget.Generation, done bool) (budget.Generation, error) {
	next := budget.Generation{Number: g.Number + 1, Began: time.Now(), Before: g.Lines}
	if !done || g.Round {
		next.Before = g.Before
	}
	for l, err := range Decisions(in(dir, LedgerName)) {
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

// removeNext removes a next frontier that has not taken its place, and what was to become one.
func removeNext(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), NextName) {
			err = errors.Join(err, os.Remove(in(dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// importNext builds the next frontier of its parts, beside the old one.
func importNext(dir string, parts iter.Seq2[frontier.Item, error]) error {
	next, stop := iter.Pull2(parts)
	defer stop()
	return engine.Import(in(dir, NextName), func() (frontier.Item, error) {
		item, err, ok := next()
		if !ok {
			return item, io.EOF
		}
		return item, err
	})
}

// buildNext builds the next frontier beside the old one, which is open and ours.
func buildNext(ctx context.Context, dir string, old frontier.Reader, g budget.Generation) error {
	if err := removeNext(dir); err != nil { // after a kill one may be there
		return err
	}
	if err := importNext(dir, nextItems(ctx, old, g)); err != nil {
		return err
	}
	f, err := engine.Open(in(dir, NextName), frontier.Options{Operator: true}) // a kill before the update is for its run to learn of
	if err != nil {
		return err
	}
	var given []frontier.Candidate
	for s, err := range old.AllSeeds(ctx) {
		if err != nil {
			return errors.Join(err, f.Close())
		}
		if s.From == "" { // where a seed redirected to is found again
			given = append(given, frontier.Candidate{URL: s.URL, Kind: frontier.KindSeed, Seed: s.URL.String(), Tag: s.Tag})
		}
	}
	_, err = f.Add(ctx, given)
	return errors.Join(err, f.Close())
}

// nextItems are the parts of the next frontier: the hosts with what politeness needs, the robots.txt files that these have,
// each once, and nothing of what was found.
func nextItems(ctx context.Context, old frontier.Reader, g budget.Generation) iter.Seq2[frontier.Item, error] {
	return func(yield func(frontier.Item, error) bool) {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // it never fails
		stats, err := old.Stats(ctx)
		head := frontier.Head{Secret: secret, Openings: stats.Restarts + 1, Unclean: stats.Unclean}
		if !yield(frontier.Item{Head: &head}, err) {
			return
		}
		more, met := true, map[[32]byte]bool{}
		err = status.EachHost(ctx, old, 0, func(h frontier.Host) bool {
			var state robots.State
			var err error
			if len(h.Robots) > 0 {
				err = state.UnmarshalBinary(h.Robots)
			}
			sum, ok := state.Body()
			if err == nil && (!ok || met[sum]) {
				return true
			}
			met[sum] = true
			var body []byte
			if err == nil {
				body, err = old.Blob(ctx, sum)
			}
			if errors.Is(err, frontier.ErrNoBlob) { // that of an empty file is not kept
				return true
			}
			more = yield(frontier.Item{Blob: body}, err)
			return more
		})
		if more && err == nil {
			err = status.EachHost(ctx, old, 0, func(h frontier.Host) bool {
				h, err := host.NextGeneration(h)
				more = yield(frontier.Item{Host: &h}, err)
				return more
			})
		}
		if more {
			yield(frontier.Item{Totals: &frontier.Totals{Counts: g.Counts()}}, err)
		}
	}
}
