package crawler

import (
	"io"
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

// wingSeeds returns the roots of sites but those at addresses that are not public.
func wingSeeds(sites []*crawltest.Site) []string {
	var seeds []string
	for _, s := range sites {
		if s.Expect == nil || !s.Expect.Closed {
			seeds = append(seeds, "http://"+s.Name+"/")
		}
	}
	return seeds
}

// ending is how a URL ends: after so many exchanges, by that outcome and reason.
type ending struct {
	url      string
	attempts int
	last     string
}

// wingEndings is what becomes of each misbehaviour. A host's failure is tried three times; what is no failure, or a
// limit of ours, once.
var wingEndings = []ending{
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
	{"huge-robots.test/late.html", 1, "fetched: no match"}, // what stands beyond 500 KiB of robots.txt is not read
	{"html-robots.test/closed/page.html", 1, "disallowed: disallow rule"},
	{"robots-404.test/", 1, "fetched: unavailable"},
	{"robots-403.test/", 1, "fetched: unavailable"}, // RFC 9309 2.3.1.3
	{"robots-503.test/", 0, ""},                     // nothing is decided, it stays pending
	{"robots-429.test/", 0, ""},
	{"robots-silent.test/", 0, ""},
	{"robots-reset.test/", 0, ""},
	{"robots-loop.test/", 0, ""},
	{"rest-long.test/busy.html", 1, "deferred: status 503"},
	{"rest-long.test/after.html", 0, ""},
	{"rest-garbage.test/busy.html", 1, "deferred: status 503"},
	{"rest-garbage.test/after.html", 0, ""},
}

// All that misbehaves, in one crawl: it ends, each URL ends as it should and for a reason that the page of the ledger has, each
// record says what the ledger says, no exchange begins before the pause is over that its line says was due (rules 9 to 14),
// the referee finds nothing, and no goroutine is left over.
func TestHostileWing(t *testing.T) {
	if racing {
		t.Skip("it reads much, for long under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		slow, busy := crawltest.Tree("slow.test", 3), crawltest.Tree("busy.test", 3)
		slow.Latency = 2 * time.Second
		busy.Pages["/p1.html"] = crawltest.Page{FailFirst: 1, RetryAfter: "300"}
		sites := append(scoreboard.Sites(0), slow, busy)
		w := newWorld(t, wingSeeds(sites), sites...)
		w.cfg.MaxBody = 1 << 20
		w.cfg.MaxPerHost = 100 // some parts of the wing have no end, and no sign of it in their URLs
		s := w.run()
		w.wantEndings(wingEndings)
		w.wantRows(crawltest.Rules{Pace: Floor}, len(sites)/2)
		if s.EndedBy != EndedWaiting || !s.Incomplete {
			t.Errorf("the crawl ended by %s, incomplete %v; hosts that want to be left alone for longer are pending", s.EndedBy, s.Incomplete)
		}
		assert.EqualValues(t, 2, w.count(budget.OddRetryAfter), "Retry-After are said to be unreadable, want 2")
		assert.GreaterOrEqual(t, len(w.archive.records), 100, "records")
		w.reopen()
		w.cfg.MaxWait, w.cfg.MaxTime, w.cfg.Sitemaps.Robots = time.Hour, 2*time.Hour, true
		w.run()
		w.wantWords()
		w.wantRecords()
		by := keptPaces(t, w.ledger.all)
		for _, who := range []storage.PaceBy{storage.ByFloor, storage.ByResponseTime, storage.ByRetryAfter, storage.ByErrors, storage.ByRobots} {
			assert.NotEqualf(t, 0, by[string(who)], "nobody waited for %q: %v", who, by)
		}
		closeAll(t, w.cfg.Fetcher.(*fetch.Fetcher), w.web, w.front)
	}) // synctest fails the test when a goroutine of the bubble is left
}

// Politeness rule 23: whatever leads to an address that is not public, a redirect of a page, one of a robots.txt, a name
// or a name that changes its address between two look-ups, it is not dialled.
func TestRule23_AddressesThatAreNotPublic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites := scoreboard.Guarded()
		w := newWorld(t, wingSeeds(sites), sites...)
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
		named, more := 0, 0
		for _, s := range w.said {
			named += strings.Count(s, ": closed: ")
			more += strings.Count(s, "more hosts are closed")
		}
		if named != mostClosings || more != 1 {
			t.Errorf("%d closed hosts are named, and others %d times: %q", named, more, w.said)
		}
	})
}

func closeAll(t *testing.T, all ...io.Closer) {
	t.Helper()
	for _, c := range all {
		assert.NoError(t, c.Close())
	}
}

// wantEndings compares how URLs ended.
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

// wantRows judges the crawl: no row is broken, and so many hostile ones at least are shown, none of them unshown.
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
