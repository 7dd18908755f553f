package inquiry

import (
	"errors"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/hostlock"
	"curtsy/frontier/canon"
)

func fetcher(t *testing.T, web *crawltest.Web) *fetch.Fetcher {
	web.StartPipe()
	t.Cleanup(func() { web.Close() })
	f, err := fetch.New(fetch.Config{
		Identity: fetch.Identity{Version: "1"}, Resolve: web.Resolve, Dial: web.Dial, AllowNet: []netip.Prefix{web.Net()}, SpoolDir: t.TempDir(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func open(t *testing.T, path string) *hostlock.Locks {
	l, err := hostlock.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	if why := l.Missing(); why != "" {
		t.Skip(why)
	}
	return l
}

// Politeness rules 11, 14, 18 and 26: a command obeys a back-off and shares it. It waits for ten seconds at most.
func TestRule26_ACommandHeedsAWish(t *testing.T) {
	for _, c := range []struct {
		target, field, value string
		status               int
		want                 time.Duration
	}{
		{"/robots.txt", "Retry-After", "7", 503, 7 * time.Second},
		{"/robots.txt", "Retry-After", "7", 404, 7 * time.Second},
		{"/robots.txt", "Retry-After", "60", 429, time.Minute},
		{"/robots.txt", "", "", 429, time.Minute},
		{"/robots.txt", "", "", 500, 0},
		{"/robots.txt", "RateLimit", `"p";r=0;t=9`, 200, 9 * time.Second},
		{"/bot.html", "Retry-After", "100000", 302, 100_000 * time.Second},
		{"/bot.html", "Retry-After", "60", 200, 0},
	} {
		for _, name := range []string{"a.test", "localhost"} {
			synctest.Test(t, func(t *testing.T) {
				web := crawltest.New(&crawltest.Site{Name: name, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if c.field != "" {
						rw.Header().Set(c.field, c.value)
					}
					rw.WriteHeader(c.status)
				})})
				f, path := fetcher(t, web), filepath.Join(t.TempDir(), "locks")
				locks := [2]*hostlock.Locks{open(t, path), open(t, path)}
				u, err := canon.Parse("http://" + name + c.target)
				require.NoError(t, err)
				asks := func(l *hostlock.Locks) error {
					x, err := alongside{locks: l, floor: time.Second, every: time.Second}.do(t.Context(), f, "curtsy", fetch.Request{URL: u})
					if err == nil {
						err = x.Close()
					}
					return err
				}
				require.NoError(t, asks(locks[0]))
				if w, err := locks[1].Resting(u.Authority()); err != nil || w.Wait != c.want || w.Status != c.status && c.want > 0 {
					t.Errorf("%+v: others know of %+v, %v", c, w, err)
				}
				for i, l := range locks {
					before := web.Referee().Requests()
					err := asks(l)
					after := web.Referee().Requests()
					var resting *Resting
					if c.want > patience {
						who := [2]string{"not requested: the host told curtsy to wait until ", "not requested: waits because of an earlier crawl or command until "}[i]
						if !errors.As(err, &resting) || !strings.HasPrefix(err.Error(), who) || len(after) != len(before) {
							t.Errorf("%+v: %v, %d requests", c, err, len(after)-len(before))
						}
						continue
					}
					if err != nil || len(after) != len(before)+1 {
						t.Fatalf("%+v: %v, %d requests", c, err, len(after)-len(before))
					}
					if gap := after[len(before)].Start.Sub(before[len(before)-1].End); gap < c.want || gap > c.want+3*time.Second {
						t.Errorf("%+v: asked again after %v", c, gap)
					}
				}
			})
		}
	}
}

func TestAlongside_AFailedNoteReturnsNoExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := open(t, filepath.Join(t.TempDir(), "locks"))
		web := crawltest.New(&crawltest.Site{Name: "localhost", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			assert.NoError(t, locks.Close())
			rw.Header().Set("Retry-After", "7")
			rw.WriteHeader(http.StatusServiceUnavailable)
		})})
		f := fetcher(t, web)
		u, err := canon.Parse("http://localhost/robots.txt")
		require.NoError(t, err)
		x, err := alongside{locks: locks, floor: time.Second, every: time.Second}.do(t.Context(), f, "curtsy", fetch.Request{URL: u})
		if x != nil || err == nil {
			t.Errorf("%v, %v", x, err)
		}
	})
}
