package main

import (
	"context"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// givenSeeds is what a run must know of the seeds it was given, however many there are.
type givenSeeds struct {
	count     int64
	named     bool            // one is not on loopback, whose hosts are the operator's own
	addresses []frontier.Seed // that fetchConfig makes an exception for, one of each authority
}

// seedsGiven looks through the seeds of a crawl. Those that a seed redirected to were not given.
func seedsGiven(ctx context.Context, f frontier.Reader) (g givenSeeds, err error) {
	met := map[canon.Authority]bool{} // of a million seeds hardly any is an address
	for s, err := range f.AllSeeds(ctx) {
		if err != nil {
			return givenSeeds{}, err
		}
		if s.From != "" {
			continue
		}
		g.count++
		a := s.URL.Authority()
		g.named = g.named || !a.Loopback()
		if _, literal := a.Addr(); met[a] || !literal && a.Host() != "localhost" {
			continue
		}
		met[a] = true
		g.addresses = append(g.addresses, s)
	}
	return g, nil
}
