package main

import (
	"context"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// addressSeeds returns the seeds that fetchConfig makes an exception for, one of each authority: of a million seeds there
// are hardly any.
func addressSeeds(ctx context.Context, f frontier.Frontier) (seeds []frontier.Seed, err error) {
	met := map[canon.Authority]bool{}
	for s, err := range f.AllSeeds(ctx) {
		if err != nil {
			return nil, err
		}
		a := s.URL.Authority()
		if _, literal := a.Addr(); s.From != "" || met[a] || !literal && a.Host() != "localhost" {
			continue
		}
		met[a] = true
		seeds = append(seeds, s)
	}
	return seeds, nil
}
