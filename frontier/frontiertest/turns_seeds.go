package frontiertest

import (
	"fmt"
	"slices"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// seedRules are about the list of seeds, read one by one.
func seedRules() []stage.Rule {
	return []stage.Rule{
		{Name: "seeds: all of them come, one by one, in the order in which they were added", Test: seedsAll},
		{Name: "seeds: the frontier can be used between two of them, and each of before comes once", Test: seedsMeanwhile},
		{Name: "seeds: whoever has enough of them gets no more", Test: seedsEnough},
	}
}

// manySeeds are more than an engine would read at once.
func manySeeds(s *stage.Stage) []frontier.Candidate {
	var names []string
	for i := range 9000 {
		names = append(names, fmt.Sprintf("a/%d", i))
	}
	return s.Seeds(names...)
}

// eachSeed calls f for the seeds as AllSeeds yields them, and returns them.
func eachSeed(s *stage.Stage, f func(n int)) (all []frontier.Seed) {
	s.Helper()
	for x, err := range s.Frontier.AllSeeds(s.Context()) {
		if err != nil {
			s.Fatalf("AllSeeds after %d: %v", len(all), err)
		}
		all = append(all, x)
		f(len(all))
	}
	return all
}

func seedsAll(s *stage.Stage) {
	stage.Want(s, "seeds of a new frontier", len(eachSeed(s, func(int) {})), 0)
	cs := append(manySeeds(s), s.Seeds("b/1")...)
	s.Add(cs)
	var wanted []frontier.Seed
	for _, c := range cs {
		wanted = append(wanted, frontier.Seed{URL: c.URL, Tag: c.Tag})
	}
	for range 2 {
		if got := eachSeed(s, func(int) {}); !slices.Equal(got, wanted) {
			s.Fatalf("%d seeds, want %d; or another order", len(got), len(wanted))
		}
		s.Reopen()
	}
}

func seedsMeanwhile(s *stage.Stage) {
	s.Add(manySeeds(s))
	before := eachSeed(s, func(int) {})
	all := eachSeed(s, func(n int) {
		if n%2000 != 1 {
			return
		}
		r := stage.Fetched(s.Turn(1))
		r.Extend = []frontier.Seed{{URL: s.URL("b/1"), From: fmt.Sprint(n)}}
		s.Finish(r)
		s.Add(s.Seeds(fmt.Sprintf("c/%d", n)))
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

func seedsEnough(s *stage.Stage) {
	s.Add(s.Seeds("a/1", "b/1", "c/1"))
	n := 0
	for _, err := range s.Frontier.AllSeeds(s.Context()) {
		if n++; err != nil || n == 2 {
			break
		}
	}
	stage.Want(s, "seeds", n, 2)
	s.Add(s.Seeds("d/1"))
}
