package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/host"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage"
)

// many is a crawl of many hosts.
type many struct {
	fakeCrawl
	f    frontier.Frontier
	live *status.Live
}

func (m *many) Look(ctx context.Context) (l Look, err error) {
	l.Running = true
	var e [3]error
	l.Status, e[0] = m.live.Status(ctx)
	l.Estimate, e[1] = m.live.Estimate(ctx)
	l.Waits, e[2] = m.live.Waits(ctx, 0)
	return l, errors.Join(e[:]...)
}

func (m *many) Hosts(ctx context.Context, q status.Query) (status.Page, error) {
	return m.live.Hosts(ctx, q)
}

// fresh discards cached results.
func (m *many) fresh() {
	m.live = status.NewLive(m.f, status.Settings{Workers: 64, Pacing: func(frontier.Host, *host.State) status.Pacing {
		return status.Pacing{Pace: time.Second, By: string(storage.ByFloor)}
	}})
}

// manyHosts returns a frontier of hosts with one to eight URLs each.
func manyHosts(t testing.TB, hosts int) *many {
	t.Helper()
	f, err := engine.Open(filepath.Join(t.TempDir(), "frontier.db"), frontier.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	var batch []frontier.Candidate
	for n := range hosts {
		for i := range n%8 + 1 {
			u, err := canon.Parse(fmt.Sprintf("https://host-%06d.example.org/%d", (n*7919)%hosts, i))
			require.NoError(t, err)
			batch = append(batch, frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String()})
		}
		if len(batch) >= 5000 || n == hosts-1 {
			_, err := f.Add(t.Context(), batch)
			require.NoError(t, err)
			batch = batch[:0]
		}
	}
	m := &many{f: f}
	m.fresh()
	return m
}

// asking serves a dashboard of m until the test ends, and returns a function to request its pages.
func asking(t testing.TB, m *many) func(path string) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	s := New(Options{Sources: []Source{m}, Token: testToken})
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-served)
	})
	ask := func(path string) string {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+path, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+testToken)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Truef(t, path == "/readyz" || resp.StatusCode == http.StatusOK, "%s: status %d: %s", path, resp.StatusCode, b)
		return string(b)
	}
	for !strings.HasPrefix(ask("/readyz"), "ok") {
		continue
	}
	return ask
}

func TestAPageOfManyHostsIsBounded(t *testing.T) {
	hosts := 100_000
	if testing.Short() {
		hosts = 3000
	}
	m := manyHosts(t, hosts)
	ask := asking(t, m)
	for path, rows := range map[string]int{
		"hosts": 50, "hosts?sort=host&up=1": 50, "hosts?q=host-0000": min(hosts, 100) / 2, "hosts?sort=wait&from=" + fmt.Sprint(hosts-7): 7, "hosts?q=nobody": 0,
		"hosts?state=due&from=50": 50,
	} {
		page := ask("/crawl/0/" + path)
		assert.Equal(t, rows, strings.Count(page, `<a href="host?name=`), path)
		assert.LessOrEqualf(t, len(page), 64<<10, "%s: %d bytes", path, len(page))
	}
	page := ask("/crawl/0/")
	assert.Truef(t, len(page) <= 32<<10, "the overview has %d bytes", len(page))
	// Consecutive pages have each host once, in the requested order.
	last, seen := "", 0
	for from := 0; from < 200; from += 50 {
		p, err := m.Hosts(t.Context(), status.Query{Sort: "host", Up: true, Offset: from, Limit: 50})
		require.NoError(t, err)
		for _, r := range p.Rows {
			require.Truef(t, r.Host > last, "%s after %s", r.Host, last)
			last = r.Host
			seen++
		}
	}
	assert.Equal(t, "https://host-000199.example.org", last)
	assert.Equal(t, 200, seen, "hosts")
}

// The first query reads the frontier, later ones the cached result.
func BenchmarkAHundredThousandHosts(b *testing.B) {
	m := manyHosts(b, 100_000)
	ask := asking(b, m)
	for _, p := range []struct{ name, path string }{
		{"overview", ""}, {"hosts", "hosts"}, {"sorted by host", "hosts?sort=host"}, {"searched", "hosts?q=0123"}, {"page 1000", "hosts?from=50000"},
	} {
		b.Run(p.name, func(b *testing.B) {
			n := len(ask("/crawl/0/" + p.path))
			b.ReportAllocs()
			for b.Loop() {
				ask("/crawl/0/" + p.path)
			}
			b.ReportMetric(float64(n), "bytes/page")
		})
	}
	again := &many{f: m.f}
	for name, ask := range map[string]func() error{
		"first table": func() error { _, err := again.Hosts(b.Context(), status.Query{Limit: 50}); return err },
		"first look":  func() error { _, err := again.Look(b.Context()); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				again.fresh()
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
