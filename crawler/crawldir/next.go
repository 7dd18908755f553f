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
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/robots"
)

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

// buildNext builds the next frontier beside the old one, which is open and ours.
func buildNext(ctx context.Context, dir string, old frontier.Reader, g budget.Generation) error {
	path := in(dir, NextName)
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
	f, err := engine.Open(path, frontier.Options{Operator: true}) // a kill before the update is for its run to learn of
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
func nextItems(ctx context.Context, old frontier.Reader, g budget.Generation) iter.Seq2[frontier.Item, error] {
	return func(yield func(frontier.Item, error) bool) {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // it never fails
		stats, err := old.Stats(ctx)
		if err != nil {
			yield(frontier.Item{}, err)
			return
		}
		head := frontier.Head{Secret: secret, Openings: stats.Restarts + 1, Unclean: stats.Unclean}
		if !yield(frontier.Item{Head: &head}, nil) {
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
