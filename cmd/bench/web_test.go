package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

func start(t *testing.T, c webConfig) *web {
	t.Helper()
	w, err := startWeb(c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.close()) })
	return w
}

func pathOf(page int) string { return string(appendPath(nil, page)) }

// Pages are as large and linked as the docs say; the servers count requests by path.
func TestWeb_ServesPagesAndCounts(t *testing.T) {
	w := start(t, webConfig{Hosts: 1, Pages: 5})
	for target, want := range map[string]int{"/": 200, "/robots.txt": 200, "/nothing": 404, pathOf(4): 200, pathOf(5): 404} {
		resp, err := http.Get(w.from[0] + target)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(t, err)
		assert.Equalf(t, want, resp.StatusCode, "%s: %s", target, resp.Status)
		if isPage := want == 200 && target != "/robots.txt"; isPage && (len(body) < 19<<10 || len(body) > 22<<10 || strings.Count(string(body), "<a href=") != links) {
			t.Errorf("%s: %d bytes", target, len(body))
		}
	}
	if r := w.report(); r.Requests != 5 || r.Pages != 2 || r.Robots != 1 || r.Other != 2 || r.Connections != 1 || r.Duplicates != 0 {
		t.Errorf("%+v", r)
	}
	if w.reset(); w.report().Requests != 0 {
		t.Errorf("after reset: %+v", w.report())
	}
	out, target := make([]byte, 0, 64<<10), []byte(pathOf(3))
	if n := testing.AllocsPerRun(100, func() { out, _ = w.respond(out[:0], 0, target) }); n > 0 {
		t.Errorf("a response takes %v allocations", n)
	}
}

// From its root every page of a host is reached by links within the host, and each path names its page.
func TestWeb_LinksReachEveryPage(t *testing.T) {
	for _, c := range []webConfig{{Hosts: 1, Pages: 1}, {Hosts: 1, Pages: 5000}, {Hosts: 7, Pages: 100}} {
		needsLoopback(t)
		w, sum := start(t, c), 0
		for host := range c.Hosts {
			seen := map[int]bool{0: true}
			for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
				for i := range links {
					toHost, to := w.leadsTo(host, queue[0], i)
					if !w.has(toHost, to) || pageAt([]byte(pathOf(to))) != to {
						t.Fatalf("%+v: page %d of host %d leads to page %d of host %d", c, queue[0], host, to, toHost)
					}
					if toHost == host && !seen[to] {
						seen[to] = true
						queue = append(queue, to)
					}
				}
			}
			sum += len(seen)
		}
		assert.Equalf(t, c.Pages, sum, "%+v: %d pages are reached", c, sum)
	}
	w, seen := start(t, webConfig{Hosts: 1, Pages: 3, Endless: true}), map[int]bool{0: true}
	for n := range 100 * links {
		_, to := w.leadsTo(0, n/links, n%links)
		require.Falsef(t, seen[to], "two links of an endless web lead to page %d", to)
		seen[to] = true
	}
}

func TestBare_FetchesEachPageOnce(t *testing.T) {
	needsLoopback(t)
	w := start(t, webConfig{Hosts: 3, Pages: 30})
	var seeds []string
	for _, from := range w.from {
		seeds = append(seeds, from+"/")
	}
	seen, err := runBare(t.Context(), seeds, 7, 0)
	if r := w.report(); err != nil || seen != 30 || r.Pages != 30 || r.Duplicates+r.Other != 0 {
		t.Errorf("%d, %v; %+v", seen, err, r)
	}
	_, err = runBare(t.Context(), []string{seeds[0] + "broken"}, 3, 0)
	require.ErrorContains(t, err, "/broken: 404")
}

// BenchmarkBare compares the bare loop with the parts that every crawler needs: reading pages over one connection, parsing them and
// resolving links. A much slower loop would flatter curtsy. The processor time includes the servers'.
func BenchmarkBare(b *testing.B) {
	const pages = 500
	w, err := startWeb(webConfig{Hosts: 1, Pages: pages})
	require.NoError(b, err)
	defer w.close()
	seed := w.from[0] + "/"
	b.Run("loop", func(b *testing.B) {
		for b.Loop() {
			seen, err := runBare(b.Context(), []string{seed}, 1, 0)
			require.NoError(b, err)
			require.Equal(b, pages, seen)
		}
	})
	b.Run("parts", func(b *testing.B) {
		for b.Loop() {
			for page := range pages {
				readAndParse(b, seed, pathOf(page))
			}
		}
	})
}

func readAndParse(b *testing.B, seed, path string) {
	b.Helper()
	base, err := url.Parse(strings.TrimSuffix(seed, "/") + path)
	require.NoError(b, err)
	resp, err := http.Get(base.String())
	require.NoError(b, err)
	defer resp.Body.Close()
	doc, err := html.Parse(resp.Body)
	require.NoError(b, err)
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if n.Data == "a" && a.Key == "href" {
				_, err := base.Parse(a.Val)
				require.NoError(b, err)
			}
		}
	}
}

const ms = time.Millisecond

// judgedOf is the servers' report on logs.
func judgedOf(c webConfig, logs ...[]request) refereed {
	w := &web{cfg: c, hosts: make([]hostLog, len(logs))}
	for i, log := range logs {
		w.hosts[i].log = log
	}
	return *w.report()
}

func TestReferee_FindsEachFault(t *testing.T) {
	ok := []request{{robotsPage, 1 * ms, 2 * ms}, {0, 600 * ms, 610 * ms}, {1, 1200 * ms, 1210 * ms}}
	with := func(change func(log []request) []request) []request { return change(slices.Clone(ok)) }
	for name, tt := range map[string]struct {
		log  []request
		want string
	}{
		"nothing":         {ok, ""},
		"a page missing":  {ok[:2], "[3 of 4 pages were fetched]"},
		"a page twice":    {append(ok[:3:3], request{0, 2000 * ms, 2001 * ms}), "[1 request for a page requested before]"},
		"an unknown page": {append(ok[:3:3], request{noPage, 2000 * ms, 2001 * ms}), "[1 request for pages that do not exist]"},
		"a gap short": {with(func(l []request) []request { l[2].start = 1109 * ms; return l }),
			"[1 of 4 gaps short of the delay, the smallest 0.499000 s]"},
		"two at once": {with(func(l []request) []request { l[2].start = 605 * ms; return l }),
			"[1 of 4 gaps short of the delay, the smallest -0.005000 s 1 request while as many as allowed were in progress at the host]"},
		"one never answered": {with(func(l []request) []request { l[1].end = 0; return l }),
			"[1 of 4 gaps short of the delay, the smallest -0.600000 s 1 request while as many as allowed were in progress at the host]"},
		"robots.txt late": {with(func(l []request) []request {
			l[0], l[1] = request{0, 0, ms}, request{robotsPage, 600 * ms, 610 * ms}
			return l
		}),
			"[1 host whose robots.txt was not read first]"},
	} {
		r := judgedOf(webConfig{Hosts: 2, Pages: 4, Pace: 500 * ms, Width: 1}, tt.log, ok)
		if got := r.violations(); tt.want == "" && got != nil || tt.want != "" && fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %q, want %s", name, got, tt.want)
		}
	}
}

// hosts ÷ (pace + exchange) is permitted, without the first request of each host.
func TestReferee_RatioToPermittedRate(t *testing.T) {
	var log []request
	for i := range 11 {
		start := time.Duration(i) * 600 * ms
		log = append(log, request{i - 1, start, start + 100*ms})
	}
	r := judgedOf(webConfig{Hosts: 2, Pages: 20, Pace: 400 * ms, Width: 1}, log, log)
	if r.OfPermitted < 0.833 || r.OfPermitted > 0.834 || r.MetAfter != 0 || len(r.violations()) > 0 {
		t.Errorf("%+v %q", r, r.violations())
	}
}

// turns is the log of a host with a request every 500 ms: a delay of 400 ms, responses of 100 ms.
func turns(from time.Duration, n int) (log []request) {
	for i := range n {
		start := from + time.Duration(i)*500*ms
		log = append(log, request{i - 1, start, start + 100*ms})
	}
	return log
}

// The steady ratio is 1 when all hosts are requested as often as permitted once they are known, however late that is.
func TestReferee_SteadyRatio(t *testing.T) {
	slow := turns(0, 21)
	for i := range slow[10:] {
		slow[10+i].start, slow[10+i].end = slow[10+i].start+5000*ms, slow[10+i].end+5000*ms
	}
	neglected := append(turns(0, 1), request{1, 10_000 * ms, 10_100 * ms})
	for name, tt := range map[string]struct {
		logs          [][]request
		steady, ratio float64
	}{
		"at once":             {[][]request{turns(0, 21), turns(0, 21)}, 1, 0},
		"one reached late":    {[][]request{turns(0, 21), turns(5000*ms, 21)}, 1, 5},
		"one has more":        {[][]request{turns(0, 11), turns(0, 41)}, 1, 0},
		"one pauses for 5 s":  {[][]request{slow, turns(0, 31)}, 50.0 / 60, 0},
		"one is left waiting": {[][]request{turns(0, 21), neglected}, 21.0 / 40, 0},
		"too short to judge":  {[][]request{turns(0, 2), turns(0, 2)}, 0, 0},
		"one never reached":   {[][]request{turns(0, 21), nil}, 0, 0},
	} {
		r := judgedOf(webConfig{Hosts: 2, Pages: 40, Pace: 400 * ms, Width: 1}, tt.logs...)
		if d := r.Steady - tt.steady; d < -0.001 || d > 0.001 || r.MetAfter != tt.ratio {
			t.Errorf("%s: steady %.4f, met after %v; want %.4f, %v", name, r.Steady, r.MetAfter, tt.steady, tt.ratio)
		}
	}
}
