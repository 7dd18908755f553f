package crawler

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

func refusal1(host, reason string, i int) storage.Line {
	return storage.Line{URL: fmt.Sprintf("http://%s/%d", host, i), Decision: storage.DecisionRefuse, Reason: reason, Outcome: "dropped"}
}

// Nothing is lost, whatever comes in which order and however little is remembered: lines and counts add up, by kind.
func TestTally_LinesAndCountsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := 60_000
	if racing {
		n = 6000
	}
	for _, most := range []int{1, 2, 7, 100} {
		tally := newTally(most)
		came, told := map[refusalKind]int64{}, map[refusalKind]int64{}
		tell := func(all []storage.Line) {
			for _, l := range all {
				told[refusalKind{string(l.Decision), l.Reason, hostPart(l.URL)}] += max(l.Count, 1)
			}
		}
		for i := range n {
			l := refusal1(fmt.Sprintf("h%d.test", rng.IntN(3)*rng.IntN(2)), []string{"scope:exclude", "trap:repeat"}[rng.IntN(2)], i)
			came[refusalKind{string(l.Decision), l.Reason, hostPart(l.URL)}]++
			tell(tally.add(l))
			if n := len(tally.kinds); n > most || n != tally.order.Len() {
				t.Fatalf("%d kinds remembered, %d in order; at most %d", n, tally.order.Len(), most)
			}
		}
		tell(tally.rest())
		if len(tally.rest()) != 0 {
			t.Error("the rest is told twice")
		}
		for kind, n := range came {
			if told[kind] != n {
				t.Errorf("%d remembered: %v came %d times, %d were told", most, kind, n, told[kind])
			}
		}
	}
}

// A thousand lines, then a counting line for each further thousand, its URL one of them.
func TestTally_AThousandLinesThenCounts(t *testing.T) {
	tally := newTally(10)
	var lines, counting int
	for i := range 3500 {
		for _, l := range tally.add(refusal1("a.test", "trap:repeat", i)) {
			switch {
			case l.Count == 0:
				lines++
			case l.Count != maxRefusals || l.URL != fmt.Sprintf("http://a.test/%d", i):
				t.Errorf("%+v", l)
			default:
				counting++
			}
		}
	}
	rest := tally.rest()
	if lines != 1000 || counting != 2 || len(rest) != 1 || rest[0].Count != 500 || rest[0].Decision != storage.DecisionRefuse || rest[0].Time.IsZero() {
		t.Errorf("%d lines, %d counting lines, rest %+v", lines, counting, rest)
	}
}

func TestTally_TheHostOfAURL(t *testing.T) {
	for url, want := range map[string]string{
		"http://a.test/x/y": "http://a.test", "https://a.test:8443/?q=//": "https://a.test:8443", "http://[::1]:80/": "http://[::1]:80",
		"http://a.test": "http://a.test", "http://a.test?x": "http://a.test",
	} {
		if got := hostPart(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// Refusals beyond the first thousand of a kind are counted, in the archive as in the ledger, and also when the run is
// drained before its end.
func TestRule22_RefusalsOfAKindAreCountedNotListed(t *testing.T) {
	for name, pages := range map[string]int64{"to the end": 0, "drained": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						http.NotFound(rw, r)
						return
					}
					rw.Header().Set("Content-Type", "text/html")
					fmt.Fprintf(rw, "<p>This is %s.", r.URL.Path) // no copy of another one
					for i := range 1300 {
						fmt.Fprintf(rw, `<a href="/no/%s-%d">x</a>`, r.URL.Path[1:], i)
					}
					fmt.Fprint(rw, `<a href="/b">b</a><a href="/c">c</a>`)
				})}
				w := newWorld(t, []string{"http://a.test/"}, site)
				w.cfg.Scope.Exclude, w.cfg.MaxPages = []string{"/no/"}, pages
				s := w.run()
				var lines, counted int64
				for _, l := range w.ledger.all {
					switch {
					case l.Decision != storage.DecisionRefuse:
					case l.Count > 0:
						counted += l.Count
					default:
						lines++
					}
				}
				if want := s.Status.Pages * 1300; lines != maxRefusals || lines+counted != want || s.Status.Dropped != want {
					t.Errorf("%d lines, %d counted, %d dropped; want %d", lines, counted, s.Status.Dropped, want)
				}
				w.sameRefusals()
			})
		})
	}
}

// sameRefusals checks that archive and ledger say the same of what was not asked for.
func (w *world) sameRefusals() {
	w.t.Helper()
	var want []storage.Line
	for _, l := range w.ledger.all {
		if l.Attempt == 0 {
			want = append(want, l)
		}
	}
	if len(want) == 0 || !slices.Equal(w.archive.refused, want) {
		w.t.Errorf("%d refusals in the archive, %d in the ledger", len(w.archive.refused), len(want))
	}
}
