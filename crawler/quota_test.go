package crawler

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage"
)

// tagged is a world in which the seed of a host has a tag.
func tagged(t *testing.T, tags map[string]string, sites ...*crawltest.Site) *world {
	w := newWorld(t, nil, sites...)
	for _, site := range sites {
		if tag, ok := tags[site.Name]; ok {
			w.seeds = append(w.seeds, "http://"+site.Name+"/")
			w.add(seed(t, "http://"+site.Name+"/", tag))
		}
	}
	return w
}

// fetched counts the fetched pages of each group.
func (w *world) fetched(group func(storage.Line) string) map[string]int {
	n := map[string]int{}
	for _, l := range w.ledger.all {
		if l.Outcome == storage.OutcomeFetched && l.Type == "text/html" {
			n[group(l)]++
		}
	}
	return n
}

// The cap of a tag is exact over everything found from its seeds. URLs beyond it are held, and can be released.
func TestRule15_MaxPerTagIsExactAndTheRestIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := tagged(t, map[string]string{"a.test": "news", "b.test": "news", "c.test": "shop", "d.test": ""},
			crawltest.Tree("a.test", 9), crawltest.Tree("b.test", 9), crawltest.Tree("c.test", 3), crawltest.Tree("d.test", 9))
		w.cfg.MaxPerTag = 5
		w.cfg.MaxPages = 4
		w.run()
		w.cfg.MaxPages = 0
		s := w.run()
		want := map[string]int{"news": 5, "shop": 3, "": 9}
		if n := w.fetched(func(l storage.Line) string { return l.Tag }); fmt.Sprint(n) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", n, want)
		}
		if w.logged("held") != 1 || w.logged("tag news has all the pages") != 1 {
			t.Errorf("the log has %q", w.messages)
		}
		if s.EndedBy != EndedMaxPerTag || s.Incomplete || s.Status.Held == 0 {
			t.Errorf("ended by %q, incomplete %v, %d held", s.EndedBy, s.Incomplete, s.Status.Held)
		}
		for _, l := range w.ledger.all {
			if l.Outcome == storage.OutcomeHeld && (l.Decision != storage.DecisionHold || l.Reason != reasonMaxPerTag || l.Tag != "news") {
				t.Errorf("%+v", l)
			}
		}
		for _, then := range []struct {
			limit, pages int64
			ended        string
		}{{5, 17, EndedMaxPerTag}, {100, 30, EndedDrained}} {
			w.cfg.MaxPerTag = then.limit
			w.retry(frontier.Retrial{Outcome: frontier.Held, Reason: reasonMaxPerTag})
			if s := w.run(); s.Status.Pages != then.pages || s.EndedBy != then.ended {
				t.Errorf("released under a limit of %d: %d pages, ended by %q", then.limit, s.Status.Pages, s.EndedBy)
			}
		}
	})
}

// tardy is a frontier that reports a commit only when the next turn of the host has begun.
type tardy struct{ frontier.Frontier }

func (f tardy) Finish(ctx context.Context, rs []frontier.Result) ([]frontier.Finished, error) {
	defer time.Sleep(2 * Floor)
	return f.Frontier.Finish(ctx, rs)
}

// Pages that only the ledger has after a kill count, and so do those fetched again: no budget is ever exceeded.
func TestRule15_BudgetsOfPagesHoldOverKills(t *testing.T) {
	all := func(storage.Line) string { return "" }
	for name, c := range map[string]struct {
		set   func(*Config)
		group func(storage.Line) string
		most  int
	}{
		"per host":   {func(c *Config) { c.MaxPerHost = 5 }, func(l storage.Line) string { return parse(t, l.URL).Authority().Origin() }, 5},
		"per domain": {func(c *Config) { c.MaxPerDomain = 6 }, func(l storage.Line) string { return parse(t, l.URL).Authority().RegistrableDomain() }, 6},
		"per tag":    {func(c *Config) { c.MaxPerTag = 7 }, func(l storage.Line) string { return l.Tag }, 7},
		"crawl":      {func(c *Config) { c.MaxPages = 9 }, all, 9},
		"conditions": {func(c *Config) { c.StopWhen = []budget.Condition{condition(t, "pages=9")}; c.Workers = 1 }, all, 9},
	} {
		for seed := range uint64(rounds(6)) {
			bubble(t, fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				hosts := []string{"a.one.test", "b.one.test", "two.test", "three.test"}
				tags, sites := map[string]string{}, []*crawltest.Site{}
				for i, host := range hosts {
					tags[host] = []string{"x", "y"}[i%2]
					sites = append(sites, crawltest.Tree(host, 12))
				}
				w := tagged(t, tags, sites...)
				c.set(&w.cfg)
				kills, rng := 4, rand.New(rand.NewPCG(seed, 15))
				var mu sync.Mutex
				w.ledger.after = func(line storage.Line) { // archive and ledger have the page, the frontier does not
					mu.Lock()
					dies := line.IsPage() && kills > 0 && rng.IntN(3) == 0
					if dies {
						kills--
					}
					mu.Unlock()
					if dies {
						w.front.Kill()
					}
				}
				w.cfg.MaxWait = time.Hour
				w.cfg.Last, w.cfg.Asked = w.ledger.last(), w.ledger.asked
				s, err := Summary{}, errKilled
				for i := 0; err != nil && i < 20; i++ {
					w.cfg.Frontier = tardy{w.front}
					if s, err = w.crawl().Run(t.Context()); err != nil {
						w.crashed()
					}
				}
				want := w.fetched(c.group)
				for group, n := range want {
					assert.Equalf(t, c.most, n, "%q has %d pages, want %d", group, n, c.most)
				}
				if kills > 2 || s.Status.Pages != int64(w.fetched(all)[""]) {
					t.Errorf("%d kills did not come; the status has %d pages, the ledger %v", kills, s.Status.Pages, w.fetched(all))
				}
				w.reopen()
				if _, err := w.crawl().Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := w.fetched(c.group); !maps.Equal(n, want) {
					t.Errorf("after a run in good order %v, before it %v", n, want)
				}
			})
		}
	}
}

func condition(t *testing.T, text string) budget.Condition {
	t.Helper()
	c, err := budget.Parse(text)
	require.NoError(t, err)
	return c
}

func TestStopWhen_EndsTheRunWithTheReason(t *testing.T) {
	for _, c := range []struct {
		when        string
		least, most int64 // pages
	}{
		{"pages=7", 7, 14},
		{"tag:news pages=3", 3, 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := tagged(t, map[string]string{"a.test": "news", "b.test": "shop"}, crawltest.Tree("a.test", 300), crawltest.Tree("b.test", 300))
			w.cfg.StopWhen = []budget.Condition{condition(t, "pages=100000"), condition(t, c.when)}
			s := w.run()
			if s.EndedBy != EndedStopWhen+c.when || s.Incomplete || s.Status.Pages < c.least || s.Status.Pages > c.most {
				t.Errorf("%s: ended by %q with %d pages", c.when, s.EndedBy, s.Status.Pages)
			}
			before := s.Status.Pages
			if s := w.run(); s.EndedBy != EndedStopWhen+c.when || s.Status.Pages != before {
				t.Errorf("%s: again: ended by %q with %d pages", c.when, s.EndedBy, s.Status.Pages)
			}
		})
	}
}
