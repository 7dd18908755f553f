package crawler

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

// trusting notes to which requests credentials may be added.
type trusting struct {
	fetcher
	mu  sync.Mutex
	own map[string]canon.Authority // by URL
}

func (s *trusting) Do(ctx context.Context, r fetch.Request) (*fetch.Exchange, error) {
	s.mu.Lock()
	s.own[r.URL.String()] = r.Own
	s.mu.Unlock()
	return s.fetcher.Do(ctx, r)
}

// signsIn has w's crawl sign in at https://own.test.
func signsIn(w *world) *trusting {
	s := &trusting{fetcher: w.cfg.Fetcher, own: map[string]canon.Authority{}}
	w.cfg.Fetcher = s
	w.cfg.SignsIn = func(a canon.Authority) bool { return a.Origin() == "https://own.test" }
	return s
}

func TestRule28_CredentialsGoToPagesOfAProvedHostAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 5, nil)
		s := signsIn(w)
		w.run()
		own := parse(t, "https://own.test/").Authority()
		if len(s.own) != 7 {
			t.Errorf("asked for %v", s.own)
		}
		for u, got := range s.own {
			open := strings.HasSuffix(u, "/robots.txt") || strings.HasSuffix(u, OwnerPath)
			if open && got != (canon.Authority{}) || !open && got != own {
				t.Errorf("%s: credentials of %q", u, got.Origin())
			}
		}
	})
}

func TestRule28_AHostThatDoesNotProveToBeOwnEndsTheRun(t *testing.T) {
	for name, change := range map[string]func(*crawltest.Site){
		"no file":             func(s *crawltest.Site) { delete(s.Pages, OwnerPath) },
		"a redirect":          func(s *crawltest.Site) { s.Pages[OwnerPath] = crawltest.Page{Redirect: "/elsewhere"} },
		"another host's":      func(s *crawltest.Site) { s.Pages[OwnerPath] = crawltest.Page{Body: OwnerValue(ownKey, "www.own.test")} },
		"forbidden by robots": func(s *crawltest.Site) { s.Robots.Body = "User-agent: *\nDisallow: /.well-known/\n" },
	} {
		bubble(t, name, func(t *testing.T) {
			w := ownWorld(t, 5, change)
			s := signsIn(w)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			c, err := New(ctx, w.cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Run(ctx)
			if err == nil || !strings.Contains(err.Error(), "https://own.test is not proved to be your own, and gets no credentials") {
				t.Errorf("%v", err)
			}
			for u, got := range s.own {
				if got != (canon.Authority{}) || !strings.HasSuffix(u, "/robots.txt") && !strings.HasSuffix(u, OwnerPath) {
					t.Errorf("asked for %s, with credentials of %q", u, got.Origin())
				}
			}
		})
	}
}

// A host that failed to prove itself while nothing depended on it is looked at anew once credentials do, and not when a day
// has passed.
func TestRule28_TheNextRunLooksForTheProofAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ownWorld(t, 5, nil)
		w.cfg.OwnKey, w.cfg.MaxPages = []byte("another key, just as long as that"), 2
		w.run()
		s := signsIn(w)
		w.cfg.OwnKey, w.cfg.MaxPages = ownKey, 0
		w.reopen()
		if done := w.run(); done.Status.Fetched != 5 || s.own["https://own.test/p4.html"].Origin() != "https://own.test" {
			t.Errorf("%d fetched, with credentials for %v", done.Status.Fetched, s.own)
		}
	})
}
