package crawler

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/budget"
	"curtsy/frontier"
)

// seedLedger is a durable frontier's totals, and the book of the run over them.
type seedLedger struct {
	counts map[string]int64
	book   *seedBook
}

// turn applies a turn that answers a seed or not, unless it is lost.
func (l *seedLedger) turn(seed string, answered, lost bool) {
	turn := map[string]int64{}
	count := func(total string, n int64) { turn[total] += n }
	if answered {
		l.book.Answered(seed, count)
	} else {
		l.book.Unanswered(seed, count)
	}
	if !lost {
		l.book.Applied(frontier.Result{Counts: turn}, nil)
		for name, n := range turn {
			l.counts[name] += n
		}
	}
}

// The total is the number of seeds whose last applied turn has no answer, over retries, lost turns and new runs.
func TestSeeds_CountByTheirLastOutcome(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	l := seedLedger{map[string]int64{budget.Pages: 7}, newSeedBook(nil)}
	unanswered := map[string]bool{}
	for step := range 4000 {
		seed, answered, lost := fmt.Sprintf("http://s%d.test/", rng.IntN(12)), rng.IntN(2) == 0, rng.IntN(4) == 0
		l.turn(seed, answered, lost)
		if !lost {
			unanswered[seed] = !answered
		}
		if rng.IntN(50) == 0 {
			l.book = newSeedBook(maps.Clone(l.counts))
		}
		want := int64(0)
		for _, is := range unanswered {
			if is {
				want++
			}
		}
		if got := l.counts[budget.SeedsUnanswered]; got != want {
			t.Fatalf("step %d: %d seeds unanswered, want %d", step, got, want)
		}
	}
}

// A seed over the bound is counted without its name.
func TestNamesOfUnansweredSeedsAreBounded(t *testing.T) {
	l := seedLedger{map[string]int64{}, newSeedBook(nil)}
	const more = 5
	for i := range maxRemembered + more {
		l.turn(fmt.Sprintf("http://s%d.test/", i), false, false)
	}
	if n := l.counts[budget.SeedsUnanswered]; n != maxRemembered+more || len(l.counts) != maxRemembered+1 {
		t.Errorf("%d seeds, %d totals; want %d and %d", n, len(l.counts), maxRemembered+more, maxRemembered+1)
	}
	l.turn("http://s0.test/", true, false)
	l.turn("http://s0.test/", false, false)
	l.turn(fmt.Sprintf("http://s%d.test/", maxRemembered), true, false) // without a name: it stays counted
	if n := l.counts[budget.SeedsUnanswered]; n != maxRemembered+more || len(l.counts) != maxRemembered+1 {
		t.Errorf("after a second try: %d seeds, %d totals", n, len(l.counts))
	}
}

func TestARunNamesTheFirstTwentyUnansweredSeeds(t *testing.T) {
	b, all := newSeedBook(nil), strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	for turn := range slices.Chunk(all, 9) {
		b.Applied(frontier.Result{}, turn)
	}
	assert.Equal(t, all[:20], b.Named())
}

// hop is a task that a seed redirects to, or the seed.
func hop(t *testing.T, seed, at string) frontier.Task {
	kind := frontier.KindRedirect
	if seed == at {
		kind = frontier.KindSeed
	}
	return frontier.Task{Candidate: frontier.Candidate{URL: parse(t, at), Kind: kind, Seed: seed}}
}

func TestASeedCirclesWhereItsRedirectLeadsBack(t *testing.T) {
	const a, b, c = "http://a.test/", "http://b.test/", "http://c.test/"
	for _, x := range []struct {
		name string
		way  []string // the seed, then where each redirect leads
		want bool     // whether the last one closes a circle
	}{
		{"one step", []string{a, b}, false},
		{"a straight way", []string{a, b, c}, false},
		{"there and back", []string{a, b, a}, true},
		{"back to the seed", []string{a, b, c, a}, true},
		{"back to the middle", []string{a, b, c, b}, true},
		{"back by another spelling", []string{a, b, "HTTP://A.test:80"}, true},
		{"back to the same key", []string{a, b, "http://a.test/?"}, true},
	} {
		book := newSeedBook(nil)
		for i := range len(x.way) - 1 {
			got := book.Circles(hop(t, a, x.way[i]), parse(t, x.way[i+1]))
			assert.Equalf(t, x.want && i == len(x.way)-2, got, "%s, redirect %d", x.name, i+1)
		}
	}
}

func TestRedirectWay_BelongsToOneSeed(t *testing.T) {
	const a, b, c = "http://a.test/", "http://b.test/", "http://c.test/"
	book := newSeedBook(nil)
	book.Circles(hop(t, a, a), parse(t, b))
	assert.False(t, book.Circles(hop(t, b, b), parse(t, a)), "the way of another seed counts")
	link := hop(t, a, b)
	link.Depth = 1
	assert.False(t, book.Circles(link, parse(t, a)), "the redirect of a linked page counts as that of its seed")
	book.EndOfChain(hop(t, a, a))
	assert.True(t, book.Circles(hop(t, a, c), parse(t, a)), "a seed that was not redirected to has ended the way")
	book.EndOfChain(hop(t, a, b))
	assert.False(t, book.Circles(hop(t, a, c), parse(t, a)), "the way is known after its end")
}

// A turn that extends the scope may be lost: each one extends it until one is applied.
func TestTheScopeIsExtendedUntilATurnIsApplied(t *testing.T) {
	book, u := newSeedBook(nil), parse(t, "http://b.test/x")
	covered, calls := false, 0
	extend := func() { book.Extend(u, func() bool { return covered }, func() { covered = true; calls++ }) }
	want := func(n int, when string) {
		t.Helper()
		if extend(); calls != n {
			t.Errorf("%s: %d extensions, want %d", when, calls, n)
		}
	}
	want(1, "at first")
	want(2, "while a turn is under way")
	book.Applied(frontier.Result{Extend: []frontier.Seed{{URL: parse(t, "http://b.test/y")}}}, nil)
	want(3, "after another was applied")
	book.Applied(frontier.Result{Extend: []frontier.Seed{{URL: u}}}, nil)
	want(3, "after it was applied")
	covered = false
	want(4, "where the scope does not cover it")
}
