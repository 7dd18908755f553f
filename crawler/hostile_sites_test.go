package crawler

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
	"curtsy/storage"
)

// hostileSeeds returns the roots of sites at public addresses.
func hostileSeeds(sites []*crawltest.Site) []string {
	var seeds []string
	for _, s := range sites {
		if s.Expect == nil || !s.Expect.Closed {
			seeds = append(seeds, "http://"+s.Name+"/")
		}
	}
	return seeds
}

// ending is the number of exchanges of a URL, and its last outcome with its reason.
type ending struct {
	url      string
	attempts int
	last     string
}

// hostileEndings are the results of each misbehaviour. The crawler tries failures of the host three times, others once.
var hostileEndings = []ending{
	{"drip.test/drip.html", 3, "failed: slow"},
	{"slow-head.test/slow.html", 3, "failed: slow"},
	{"silent.test/silent.html", 3, "failed: timeout"},
	{"endless.test/endless.html", 1, "fetched: truncated: length"},
	{"gzip.test/bomb.html", 1, "fetched: truncated: length"},
	{"huge-head.test/huge.html", 3, "failed: protocol"},
	{"interim.test/hints.html", 3, "failed: protocol"},
	{"old.test/old.html", 3, "failed: protocol"},
	{"odd.test/999.html", 3, "failed: status 999"}, // RFC 9110 15: like a 5xx
	{"twice.test/twice.html", 3, "failed: protocol"},
	{"injection.test/escaped", 1, "redirected: to http://injection.test/x%0d%0aX-Injected:%20yes"},
	{"injection.test/bare", 3, "failed: protocol"},
	{"injection.test/split", 1, "redirected: to http://injection.test/z"},
	{"control.test/urls.html", 1, "fetched: unavailable"},
	{"control.test/header.html", 3, "failed: protocol"},
	{"control.test/tab", 1, "gone: status 404"},
	{"control.test/%1B[2J", 1, "gone: status 404"},
	{"cookie.test/cookie.html", 1, "fetched: unavailable"},
	{"locked.test/locked.html", 1, "failed: status 401"},
	{"short.test/short.html", 3, "failed: incomplete"},
	{"long.test/long.html", 1, "fetched: unavailable"},
	{"chunks.test/chunks.html", 3, "failed: protocol"},
	{"huge-chunk.test/chunk.html", 3, "failed: incomplete"},
	{"nothing.test/nothing.html", 3, "failed: reset"},
	{"reset-head.test/reset.html", 3, "failed: reset"},
	{"reset-body.test/reset.html", 3, "failed: incomplete"},
	{"loop.test/still", 1, "failed: redirect loop"},
	{"loop.test/west", 1, "redirected: to http://loop.test/east"}, // which is known already
	{"chain.test/hop/11", 1, "dropped: trap:redirect-chain"},
	{"onward.test/on/11", 1, "dropped: trap:redirect-chain"},
	{"detour.test/closed/page.html", 1, "disallowed: disallow rule"},
	{"shut.test/page.html", 1, "disallowed: disallow rule"},
	{"schemes.test/file", 1, "failed: redirect: scheme"},
	{"schemes.test/script", 1, "failed: redirect: scheme"},
	{"schemes.test/ftp", 1, "failed: redirect: scheme"},
	{"schemes.test/none", 1, "failed: redirect: malformed"},
	{"tree.test/deep/deeper/deeper/deeper/deeper/", 1, "dropped: trap:repeat"},
	{"many.test/l/0.html", 1, "disallowed: disallow rule"},
	{"charset.test/found.html", 1, "fetched: unavailable"},
	{"nested.test/nested.html", 1, "fetched: unavailable"},
	{"dense.test/dense.html", 1, "fetched: truncated: length"},
	{"dense.test/anew.html", 1, "fetched: unavailable"},
	{"huge-robots.test/closed/page.html", 1, "disallowed: disallow rule"},
	{"huge-robots.test/edge.html", 1, "disallowed: disallow rule"},
	{"huge-robots.test/late.html", 1, "fetched: no match"}, // robots.txt beyond 500 KiB is not read
	{"html-robots.test/closed/page.html", 1, "disallowed: disallow rule"},
	{"robots-404.test/", 1, "fetched: unavailable"},
	{"robots-403.test/", 1, "fetched: unavailable"}, // RFC 9309 2.3.1.3
	{"robots-503.test/", 0, ""},                     // no decision: it stays pending
	{"robots-429.test/", 0, ""},
	{"robots-silent.test/", 0, ""},
	{"robots-reset.test/", 0, ""},
	{"robots-loop.test/", 0, ""},
	{"rest-long.test/busy.html", 1, "deferred: status 503"},
	{"rest-long.test/after.html", 0, ""},
	{"rest-garbage.test/busy.html", 1, "deferred: status 503"},
	{"rest-garbage.test/after.html", 0, ""},
}

// One crawl of everything that misbehaves ends, with each URL's reason in the docs, consistent records, the delays of rules 9
// to 14, a satisfied referee, and no goroutine left.
func TestHostileSites(t *testing.T) {
	if racing {
		t.Skip("it reads much, for long under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		slow, busy := crawltest.Tree("slow.test", 3), crawltest.Tree("busy.test", 3)
		slow.Latency = 2 * time.Second
		busy.Pages["/p1.html"] = crawltest.Page{FailFirst: 1, RetryAfter: "300"}
		sites := append(scoreboard.Sites(0), slow, busy)
		w := newWorld(t, hostileSeeds(sites), sites...)
		w.cfg.MaxBody = 1 << 20
		w.cfg.MaxPerHost = 100 // some hostile sites are endless without a sign of it in their URLs
		s := w.run()
		w.wantEndings(hostileEndings)
		w.wantRows(crawltest.Rules{Pace: Floor}, len(sites)/2)
		if s.EndedBy != EndedWaiting || !s.Incomplete {
			t.Errorf("the crawl ended by %s, incomplete %v; hosts with a longer back-off are pending", s.EndedBy, s.Incomplete)
		}
		assert.EqualValues(t, 2, w.count(budget.OddRetryAfter), "Retry-After count as unreadable, want 2")
		assert.GreaterOrEqual(t, len(w.archive.records), 100, "records")
		w.reopen()
		w.cfg.MaxWait, w.cfg.MaxTime, w.cfg.Sitemaps.Robots = time.Hour, 2*time.Hour, true
		w.run()
		w.wantWords()
		w.wantRecords()
		by := keptPaces(t, w.ledger.all)
		for _, who := range []storage.PaceBy{storage.ByFloor, storage.ByResponseTime, storage.ByRetryAfter, storage.ByErrors, storage.ByRobots} {
			assert.NotEqualf(t, 0, by[string(who)], "no host waited for %q: %v", who, by)
		}
		assert.NoError(t, errors.Join(w.cfg.Fetcher.(*fetch.Fetcher).Close(), w.web.Close(), w.front.Close()))
	}) // synctest fails the test when a goroutine of the bubble is left
}

// The crawler dials no private address, whether a redirect, a robots.txt, a name, or a name that changes its address leads there.
func TestRule23_AddressesThatAreNotPublic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites := scoreboard.Guarded()
		w := newWorld(t, hostileSeeds(sites), sites...)
		w.cfg.Scope = scope.Config{Mode: scope.ModeAny} // so that no other rule comes first
		w.run()
		w.wantRows(crawltest.Rules{Pace: Floor}, 3)
		for _, to := range []string{"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1"} {
			w.wantAsked(to)
		}
		w.wantEndings([]ending{
			{"inward.test/inward/0", 1, "redirected: to http://127.0.0.1/latest/meta-data/"},
			{"rebind.test/", 1, "dropped: private address"},
			{"inward-robots.test/", 0, ""},
			{"intranet.test/", 0, ""},
		})
		assert.Equal(t, mostClosings, w.logged(": closed: "), "closed hosts are named")
		assert.Equal(t, 1, w.logged("more hosts are closed"))
	})
}

func (w *world) wantEndings(want []ending) {
	w.t.Helper()
	for _, e := range want {
		got := w.ledger.of("http://" + e.url)
		last := ""
		if len(got) > 0 {
			last = got[len(got)-1]
		}
		if len(got) != e.attempts || last != e.last {
			w.t.Errorf("%s: %d lines, the last %q; want %d, %q", e.url, len(got), last, e.attempts, e.last)
		}
	}
}

// wantRows judges the crawl: at least so many hostile rows are shown, and each is kept.
func (w *world) wantRows(rules crawltest.Rules, least int) {
	w.t.Helper()
	w.judged(rules)
	shown := 0
	rules.Seeds = w.seeds
	for _, row := range w.web.Referee().Judge(rules).Rows {
		if !strings.HasPrefix(string(row.Rule), "hostile: ") {
			continue
		}
		if shown++; row.Verdict != crawltest.Kept {
			w.t.Errorf("%s: %s (%s)", row.Rule, row.Verdict, row.Evidence)
		}
	}
	if shown < least {
		w.t.Errorf("%d hostile rows, want at least %d", shown, least)
	}
}
