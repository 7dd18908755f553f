package crawler

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/storage"
)

// tagged is a world whose seeds have tags: http://HOST/ → tag.
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

// fetched counts the pages that the ledger has of each group.
func (w *world) fetched(group func(storage.Line) string) map[string]int {
	n := map[string]int{}
	for _, l := range w.ledger.all {
		if l.Outcome == storage.OutcomeFetched && l.Type == "text/html" {
			n[group(l)]++
		}
	}
	return n
}

// Pages of a tag are kept exactly over all that descends from its seeds. What is beyond is set aside, and released.
func TestRule15_MaxPerTagIsExactAndTheRestIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := tagged(t, map[string]string{"a.test": "news", "b.test": "news", "c.test": "shop", "d.test": ""},
			crawltest.Tree("a.test", 9), crawltest.Tree("b.test", 9), crawltest.Tree("c.test", 3), crawltest.Tree("d.test", 9))
		w.cfg.MaxPerTag = 5
		var held []string
		w.cfg.Log = func(format string, args ...any) {
			if text := fmt.Sprintf(format, args...); strings.Contains(text, "held") {
				held = append(held, text)
			}
		}
		w.cfg.MaxPages = 4
		w.run()
		w.cfg.MaxPages = 0
		s := w.run()
		want := map[string]int{"news": 5, "shop": 3, "": 9}
		if n := w.fetched(func(l storage.Line) string { return l.Tag }); fmt.Sprint(n) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", n, want)
		}
		if len(held) != 1 || !strings.Contains(held[0], "tag news has all the pages") {
			t.Errorf("the log says %q", held)
		}
		if s.EndedBy != EndedMaxPerTag || s.Incomplete || s.Status.Held == 0 {
			t.Errorf("ended by %q, incomplete %v, %d held", s.EndedBy, s.Incomplete, s.Status.Held)
		}
		for _, l := range w.ledger.all {
			if l.Outcome == storage.OutcomeHeld && (l.Decision != storage.DecisionHold || l.Reason != reasonMaxPerTag || l.Tag != "news") {
				t.Errorf("%+v", l)
			}
		}
		release := func() {
			w.retry(frontier.Retrial{Outcome: frontier.Held, Reason: reasonMaxPerTag})
		}
		release()
		if s := w.run(); s.Status.Pages != 17 || s.EndedBy != EndedMaxPerTag {
			t.Errorf("released under the same limit: %d pages, ended by %q", s.Status.Pages, s.EndedBy)
		}
		w.cfg.MaxPerTag = 100
		release()
		if s := w.run(); s.Status.Pages != 30 || s.EndedBy != EndedDrained {
			t.Errorf("released under a larger one: %d pages, ended by %q", s.Status.Pages, s.EndedBy)
		}
	})
}

func condition(t *testing.T, text string) budget.Condition {
	t.Helper()
	c, err := budget.Parse(text)
	require.NoError(t, err)
	return c
}

func TestStopWhenEndsTheRunAndSaysWhy(t *testing.T) {
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
