package bolt

import (
	"context"
	"iter"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// seedValues is how many values of the journal, of some 40 seeds each, AllSeeds reads at once.
const seedValues = 64

// AllSeeds implements frontier.Frontier. It reads some values of the journal in one transaction, and hands out their
// seeds after it.
func (f *Frontier) AllSeeds(ctx context.Context) iter.Seq2[frontier.Seed, error] {
	return func(yield func(frontier.Seed, error) bool) {
		for at, more := uint64(0), true; more; at += seedValues {
			var page []frontier.Seed
			var err error
			if page, more, err = f.seedPage(ctx, at); err != nil {
				yield(frontier.Seed{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// seedPage returns the seeds of the values beyond after, seedValues at most. When there are no more it adds those that
// are not in the file yet: between a commit and the moment when it is known, they are in both.
func (f *Frontier) seedPage(ctx context.Context, after uint64) (page []frontier.Seed, more bool, err error) {
	var later []frontier.Seed
	var last uint64
	err = f.reading(ctx, func(int64) {
		if more = f.groups.lastSeed > after+seedValues; more {
			last = after + seedValues
			return
		}
		last = f.groups.lastSeed
		for g := range f.groups.all() {
			later = append(later, g.seeds...)
		}
	}, func(tx *bbolt.Tx) error {
		return layout.EachSeed(tx, after, last, func(s frontier.Seed) error {
			page = append(page, s)
			return nil
		})
	})
	return append(page, later...), more, err
}
