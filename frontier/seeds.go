package frontier

import (
	"context"
	"iter"
)

// SeedsOf returns all that AllSeeds yields.
func SeedsOf(ctx context.Context, f interface {
	AllSeeds(ctx context.Context) iter.Seq2[Seed, error]
}) (seeds []Seed, err error) {
	for s, err := range f.AllSeeds(ctx) {
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, s)
	}
	return seeds, nil
}
