package frontiertest

import (
	"fmt"
	"slices"

	"curtsy/frontier"
)

// seedRules are about the list of seeds, read one by one.
func seedRules() []rule {
	return []rule{
		{name: "seeds: all of them come, one by one, in the order in which they were added", test: seedsAll},
		{name: "seeds: the frontier can be used between two of them, and each of before comes once", test: seedsMeanwhile},
		{name: "seeds: whoever has enough of them gets no more", test: seedsEnough},
	}
}

// manySeeds are more than an engine would read at once.
func (s *stage) manySeeds() []frontier.Candidate {
	var names []string
	for i := range 9000 {
		names = append(names, fmt.Sprintf("a/%d", i))
	}
	return s.seeds(names...)
}

// eachSeed calls f for the seeds as AllSeeds yields them, and returns them.
func (s *stage) eachSeed(f func(n int)) (all []frontier.Seed) {
	s.Helper()
	for x, err := range s.f.AllSeeds(s.Context()) {
		if err != nil {
			s.Fatalf("AllSeeds after %d: %v", len(all), err)
		}
		all = append(all, x)
		f(len(all))
	}
	return all
}

func seedsAll(s *stage) {
	want(s, "seeds of a new frontier", len(s.eachSeed(func(int) {})), 0)
	cs := append(s.manySeeds(), s.seeds("b/1")...)
	s.add(cs)
	var wanted []frontier.Seed
	for _, c := range cs {
		wanted = append(wanted, frontier.Seed{URL: c.URL, Tag: c.Tag})
	}
	for range 2 {
		if got := s.eachSeed(func(int) {}); !slices.Equal(got, wanted) {
			s.Fatalf("%d seeds, want %d; or another order", len(got), len(wanted))
		}
		s.reopen()
	}
}

func seedsMeanwhile(s *stage) {
	s.add(s.manySeeds())
	before := s.eachSeed(func(int) {})
	all := s.eachSeed(func(n int) {
		if n%2000 != 1 {
			return
		}
		r := fetched(s.turn(1))
		r.Extend = []frontier.Seed{{URL: s.url("b/1"), From: fmt.Sprint(n)}}
		s.finish(r)
		s.add(s.seeds(fmt.Sprintf("c/%d", n)))
	})
	if len(all) < len(before) || !slices.Equal(all[:len(before)], before) {
		s.Fatalf("%d seeds, want the %d of before and those added since", len(all), len(before))
	}
	met := map[frontier.Seed]bool{}
	for _, x := range all {
		if met[x] {
			s.Fatalf("%v twice", x)
		}
		met[x] = true
	}
}

func seedsEnough(s *stage) {
	s.add(s.seeds("a/1", "b/1", "c/1"))
	n := 0
	for _, err := range s.f.AllSeeds(s.Context()) {
		if n++; err != nil || n == 2 {
			break
		}
	}
	want(s, "seeds", n, 2)
	s.add(s.seeds("d/1"))
}
