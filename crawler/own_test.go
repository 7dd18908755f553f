package crawler

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// secured is a fetcher that sends requests for https over http, since the web of these tests has no certificates.
type secured struct {
	fetcher
	t *testing.T
}

func (s secured) Do(ctx context.Context, r fetch.Request) (*fetch.Exchange, error) {
	asked := r.URL
	r.URL = plainOf(s.t, r.URL)
	ex, err := s.fetcher.Do(ctx, r)
	if err == nil {
		ex.URL = asked
	}
	return ex, err
}

func (s secured) Addresses(ctx context.Context, a canon.Authority) ([]netip.AddrPort, error) {
	return s.fetcher.Addresses(ctx, s.plain(a))
}

func (s secured) CloseIdle(a canon.Authority) {
	s.fetcher.CloseIdle(s.plain(a))
}

func (s secured) plain(a canon.Authority) canon.Authority {
	u, err := a.URL("/")
	assert.NoError(s.t, err)
	return plainOf(s.t, u).Authority()
}

func plainOf(t *testing.T, u canon.URL) canon.URL {
	if rest, ok := strings.CutPrefix(u.String(), "https://"); ok {
		return parse(t, "http://"+rest)
	}
	return u
}

var ownKey = []byte("a key of thirty-two octets, say.")

// ownWorld is a crawl of https://own.test/, which the operator claims.
func ownWorld(t *testing.T, pages int, change func(*crawltest.Site)) *world {
	t.Helper()
	site := crawltest.Tree("own.test", pages)
	site.Pages[OwnerPath] = crawltest.Page{Type: "text/plain", Body: "# ours\r\n" + OwnerValue(ownKey, "own.test") + "\r\n"}
	site.Robots.Body = "User-agent: *\nDisallow: /none\n"
	if change != nil {
		change(site)
	}
	w := newWorld(t, []string{"https://own.test/"}, site)
	w.cfg.Fetcher = secured{w.cfg.Fetcher, t}
	w.cfg.OwnSites, w.cfg.OwnKey, w.cfg.Delay = []string{"own.test"}, ownKey, 100*time.Millisecond
	return w
}

func TestRule18_APublicHostIsOwnOnceItIsProved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 10, nil)
		begin := time.Now()
		s := w.run()
		asked := w.asked("own.test")
		if s.Status.Fetched != 10 || len(asked) != 12 || asked[0] != "/robots.txt" || asked[1] != OwnerPath {
			t.Fatalf("%d fetched: %q; robots.txt comes first, then the proof", s.Status.Fetched, asked)
		}
		// A foreign pace until it is proved: to the proof, and from its end to the first page.
		if took, want := time.Since(begin), 2*Floor+9*100*time.Millisecond; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
		assert.Equalf(t, 1, w.logged("https://own.test is proved to be your own"), "logged %q", w.messages)
		i := slices.IndexFunc(w.archive.records, func(k kept) bool { return k.URL == "https://own.test"+OwnerPath })
		if i < 0 || !strings.Contains(w.archive.records[i].response, OwnerValue(ownKey, "own.test")) {
			t.Error("the proof is not in the archive")
		}
		var lines int
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionOwner {
				if lines++; l.Reason != "proved" || l.Status != 200 || l.Record != "record 2" || l.URL != "https://own.test"+OwnerPath {
					t.Errorf("%+v", l)
				}
			}
		}
		if lines != 1 || s.Status.Pages != 10 {
			t.Errorf("%d lines of the proof; %d pages, and the proof does not count as one", lines, s.Status.Pages)
		}
	})
}

func TestRule18_WithoutItsProofAHostIsForeign(t *testing.T) {
	proof := func(p crawltest.Page) func(*crawltest.Site) {
		return func(s *crawltest.Site) { s.Pages[OwnerPath] = p }
	}
	value := OwnerValue(ownKey, "own.test")
	for name, tt := range map[string]struct {
		change func(*crawltest.Site)
		why    string
		asked  bool
	}{
		"no file":             {func(s *crawltest.Site) { delete(s.Pages, OwnerPath) }, "status 404", true},
		"another host's":      {proof(crawltest.Page{Type: "text/plain", Body: OwnerValue(ownKey, "www.own.test")}), "the file lacks the value", true},
		"another key's":       {proof(crawltest.Page{Type: "text/plain", Body: OwnerValue([]byte("another key, just as long as that"), "own.test")}), "the file lacks the value", true},
		"within a line":       {proof(crawltest.Page{Type: "text/plain", Body: "x" + value}), "the file lacks the value", true},
		"beyond 4 KiB":        {proof(crawltest.Page{Type: "text/plain", Body: strings.Repeat("#\n", 3000) + value}), "the file lacks the value", true},
		"with an error":       {proof(crawltest.Page{Type: "text/plain", Body: value, Status: 404}), "status 404", true},
		"elsewhere":           {proof(crawltest.Page{Redirect: "/elsewhere"}), "status 302", true},
		"disallowed":          {func(s *crawltest.Site) { s.Robots.Body = "User-agent: *\nDisallow: /.well-known/\n" }, "robots.txt: disallow rule", false},
		"a page that answers": {proof(crawltest.Page{}), "the file lacks the value", true},
	} {
		bubble(t, name, func(t *testing.T) {
			w := ownWorld(t, 5, tt.change)
			w.cfg.PerHost = 8
			w.cfg.Delay = -1
			s := w.run()
			if s.Status.Fetched != 5 || slices.Contains(w.asked("own.test"), OwnerPath) != tt.asked {
				t.Errorf("%d fetched: %q", s.Status.Fetched, w.asked("own.test"))
			}
			w.seeds = []string{"http://own.test/", "http://own.test" + OwnerPath}
			w.judged(crawltest.Rules{Pace: Floor, Partial: true})
			w.reopen()
			w.run() // no page is left to fetch, and no message is repeated
			if len(w.messages) != 1 || w.logged("is not proved to be your own") != 1 || w.logged(tt.why) != 1 {
				t.Errorf("logged %q", w.messages)
			}

			// Rule 28: a crawl with credentials for the host ends, and sends none.
			w = ownWorld(t, 5, tt.change)
			signed := w.signsIn()
			w.cfg.MaxTime = time.Hour
			_, err := w.crawl().Run(t.Context())
			require.ErrorContains(t, err, "https://own.test is not proved to be your own, and gets no credentials")
			for u, got := range signed {
				if got != (canon.Authority{}) || !strings.HasSuffix(u, "/robots.txt") && !strings.HasSuffix(u, OwnerPath) {
					t.Errorf("requested %s, with credentials of %q", u, got.Origin())
				}
			}
		})
	}
}

func TestRule18_ProofIsCheckedDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 60, nil)
		run := func(after time.Duration, pages int64, looks int) (took time.Duration) {
			t.Helper()
			time.Sleep(after)
			w.reopen()
			w.cfg.MaxPages = pages
			begin := time.Now()
			w.run()
			assert.Equal(t, looks, count(w.asked("own.test"), OwnerPath), "requests for the proof")
			return time.Since(begin)
		}
		run(0, 20, 1)
		run(23*time.Hour, 40, 1)
		w.web.Change("own.test", func(s *crawltest.Site) { delete(s.Pages, OwnerPath) })
		assert.GreaterOrEqual(t, run(2*time.Hour, 55, 2), 15*Floor, "the time of 15 pages of a host that is foreign again")
		run(25*time.Hour, 0, 3)
		assert.Len(t, w.messages, 2, "messages: it is own, and once that it is not")
	})
}

func TestPacing_NamesWhatSetThePace(t *testing.T) {
	h := frontier.Host{Authority: parse(t, "http://127.0.0.1/").Authority(), HostUpdate: frontier.HostUpdate{Pace: 300 * time.Millisecond}}
	for due, want := range map[host.Pace]string{
		{Pause: h.Pace, By: storage.ByFloor}:           "floor",
		{Pause: h.Pace, By: storage.ByCrawlDelay}:      "crawl-delay",
		{Pause: time.Minute, By: storage.ByRetryAfter}: "required by the site",
		{}: "required by the site",
	} {
		if p := (Config{}).pacing(h, &host.State{Due: due}); p.Pace != h.Pace || p.By != want {
			t.Errorf("%v: %v by %q, want %q", due, p.Pace, p.By, want)
		}
	}
}

func TestRule18_ProofHoldsForOneAuthority(t *testing.T) {
	c := Config{OwnSites: []string{"own.test"}}
	for u, want := range map[string]bool{
		"https://own.test/": true, "https://own.test:443/": true, "http://own.test/": false, "https://own.test:8443/": false,
		"https://www.own.test/": false, "https://test/": false,
	} {
		assert.Equal(t, want, c.claimed(parse(t, u).Authority()), u)
	}
}

// Owners publish the value: it may never change.
func TestRule18_TheValueIsStable(t *testing.T) {
	assert.Equal(t, "curtsy-owner=4df872e29849b9a4aa33ddb74412929271f3bb414a1adac5374e9d3c6e91fd96", OwnerValue([]byte("k"), "own.test"))
}

// signsIn has the crawl sign in at https://own.test, and notes by URL for which authority credentials may be added.
func (w *world) signsIn() map[string]canon.Authority {
	var mu sync.Mutex
	own := map[string]canon.Authority{}
	w.onDo(func(ctx context.Context, r fetch.Request, next fetcher) (*fetch.Exchange, error) {
		mu.Lock()
		own[r.URL.String()] = r.Own
		mu.Unlock()
		return next.Do(ctx, r)
	})
	w.cfg.SignsIn = func(a canon.Authority) bool { return a.Origin() == "https://own.test" }
	return own
}

func TestRule28_CredentialsOnlyForProvedHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 5, nil)
		own := w.signsIn()
		w.run()
		assert.Lenf(t, own, 7, "requested %v", own)
		for u, got := range own {
			open := strings.HasSuffix(u, "/robots.txt") || strings.HasSuffix(u, OwnerPath)
			if open && got != (canon.Authority{}) || !open && got.Origin() != "https://own.test" {
				t.Errorf("%s: credentials of %q", u, got.Origin())
			}
		}
	})
}

// A run with credentials looks for a missing proof again, before a day has passed.
func TestRule28_NextRunRequestsTheProofAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 5, nil)
		w.cfg.OwnKey, w.cfg.MaxPages = []byte("another key, just as long as that"), 2
		w.run()
		own := w.signsIn()
		w.cfg.OwnKey, w.cfg.MaxPages = ownKey, 0
		w.reopen()
		if done := w.run(); done.Status.Fetched != 5 || own["https://own.test/p4.html"].Origin() != "https://own.test" {
			t.Errorf("%d fetched, with credentials for %v", done.Status.Fetched, own)
		}
	})
}

func TestTheFloorIsLoweredForOwnHostsOnly(t *testing.T) {
	for _, tt := range []struct {
		url     string
		foreign bool
		own     bool
	}{
		{"http://127.0.0.1:8080/", false, true},
		{"http://127.7.7.7/", false, true},
		{"http://[::1]/", false, true},
		{"http://localhost:99/", false, true},
		{"http://localhost.test/", false, false},
		{"http://10.0.0.1/", false, false},
		{"http://127.0.0.1/", true, false},
		{"http://localhost/", true, false},
	} {
		c := Config{Delay: -1, LoopbackForeign: tt.foreign}.withDefaults()
		a := parse(t, tt.url).Authority()
		assert.Equalf(t, tt.own, c.own(a), "%s, loopback foreign %v: own", tt.url, tt.foreign)
		if floor := c.floor(a); floor != 0 && tt.own || floor != Floor && !tt.own {
			t.Errorf("%s: floor %v", tt.url, floor)
		}
		if c.Delay = 3 * Floor; c.floor(a) != 3*Floor {
			t.Errorf("%s: floor %v at a delay of %v", tt.url, c.floor(a), c.Delay)
		}
	}
}
