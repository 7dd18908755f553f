package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, c WebConfig) *ServedWeb {
	t.Helper()
	b, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func pathOf(page int) string { return string(appendPath(nil, page)) }

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// A path tells its page, and no other path tells the same one.
func FuzzPathAndPageBelongTogether(f *testing.F) {
	f.Add(0, "/")
	f.Add(1, "/what-was-found-bbbbbbbb.html")
	f.Add(mostPages-1, "/archive/what-was-found-zzzzzzzz.html")
	f.Fuzz(func(t *testing.T, n int, target string) {
		page := int(uint(n) % mostPages)
		if got := pageAt(appendPath(nil, page)); got != page {
			t.Errorf("page %d: %s is page %d", page, pathOf(page), got)
		}
		if got := pageAt([]byte(target)); got != noPage && pathOf(got) != target {
			t.Errorf("%q is page %d, whose path is %s", target, got, pathOf(got))
		}
	})
}

func TestPagesAreOfTheSizeThatIsPromisedAndTheSameForTheSameSeed(t *testing.T) {
	c := WebConfig{Hosts: 3, Pages: 300, Seed: 7}
	a, b := start(t, c), start(t, c)
	total, port := 0, func(b *ServedWeb) string { return b.from[0][strings.LastIndex(b.from[0], ":"):] }
	for page := range a.pagesOf(1) {
		one, at := a.answer(nil, 1, []byte(pathOf(page)))
		two, _ := b.answer(nil, 1, []byte(pathOf(page)))
		if at != page || strings.ReplaceAll(string(one), port(a), port(b)) != string(two) {
			t.Fatalf("page %d: answered as %d, or another from another web", page, at)
		}
		if n := strings.Count(string(one), "<a href="); n != Links {
			t.Errorf("page %d: %d links", page, n)
		}
		total += len(one)
	}
	if mean := total / a.pagesOf(1); mean < 19<<10 || mean > 22<<10 {
		t.Errorf("a page has %d octets", mean)
	}
}

// The answer is HTTP as a client reads it, over one connection.
func TestSpeaksHTTP(t *testing.T) {
	b := start(t, WebConfig{Pages: 5})
	seed := b.Seeds()[0]
	for target, want := range map[string]int{"": 200, "robots.txt": 200, "nothing": 404, strings.TrimPrefix(pathOf(4), "/"): 200, strings.TrimPrefix(pathOf(5), "/"): 404} {
		status, body := get(t, seed+target)
		if status != want || len(body) == 0 {
			t.Errorf("/%s: status %d, %d octets; want %d", target, status, len(body), want)
		}
	}
	r := b.Report()
	if r.Requests != 5 || r.Pages != 2 || r.Robots != 1 || r.Other != 2 || r.Connections != 1 || r.Duplicates != 0 {
		t.Errorf("%+v", r)
	}
	b.Reset()
	if r := b.Report(); r.Requests != 0 || r.Coverage != 0 {
		t.Errorf("after Reset: %+v", r)
	}
}

func TestReadRequest_KnowsWhenAConnectionStays(t *testing.T) {
	for _, tt := range []struct {
		head     string
		keep, ok bool
	}{
		{"GET /a HTTP/1.1\r\nHost: h\r\n\r\n", true, true},
		{"GET /a HTTP/1.1\nconnection:close\n\n", false, true},
		{"GET /a HTTP/1.0\r\n\r\n", false, true},
		{"GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true, true},
		{"POST /a HTTP/1.1\r\n\r\n", false, false},
		{"GET /a\r\n\r\n", false, false},
		{"GET /a HTTP/1.1\r\nHost: h\r\n", false, false},
		{"GET /" + strings.Repeat("a", 9<<10) + " HTTP/1.1\r\n\r\n", false, false},
	} {
		target, keep, ok := readRequest(bufio.NewReaderSize(strings.NewReader(tt.head), 8<<10))
		if keep != tt.keep || ok != tt.ok || ok && string(target) != "/a" {
			t.Errorf("%.40q: %q %v %v", tt.head, target, keep, ok)
		}
	}
}

// From its root every page of a host is reached by links within the host; endless pages lead to none twice.
func TestLinksReachEveryPage(t *testing.T) {
	for _, c := range []WebConfig{{Hosts: 1, Pages: 1}, {Hosts: 1, Pages: 5000}, {Hosts: 7, Pages: 100}} {
		b := start(t, c)
		sum := 0
		for host := range c.Hosts {
			seen := map[int]bool{0: true}
			for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
				for i := range Links {
					toHost, to := b.leadsTo(host, queue[0], i)
					if !b.has(toHost, to) {
						t.Fatalf("%+v: page %d of host %d leads to page %d of host %d, which there is not", c, queue[0], host, to, toHost)
					}
					if toHost == host && !seen[to] {
						seen[to] = true
						queue = append(queue, to)
					}
				}
			}
			sum += len(seen)
		}
		if sum != c.Pages {
			t.Errorf("%+v: %d pages are reached", c, sum)
		}
	}
	b := start(t, WebConfig{Pages: 3, Endless: true})
	seen := map[int]bool{0: true}
	for page := range 100 {
		for i := range Links {
			if _, to := b.leadsTo(0, page, i); seen[to] {
				t.Fatalf("page %d is led to twice", to)
			} else {
				seen[to] = true
			}
		}
	}
}

const ms = time.Millisecond

// judgedOf is what the referee of a web of two hosts says about a log.
func judgedOf(c WebConfig, logs ...[]request) Refereed {
	b := &ServedWeb{cfg: c, hosts: make([]hostLog, len(logs))}
	for i, log := range logs {
		b.hosts[i].log = log
	}
	return b.Report()
}

// Each fault is found, and nothing else is.
func TestReferee_FindsEachFault(t *testing.T) {
	ok := []request{{robotsPage, 1 * ms, 2 * ms}, {0, 600 * ms, 610 * ms}, {1, 1200 * ms, 1210 * ms}}
	with := func(change func(log []request) []request) []request {
		return change(append([]request(nil), ok...))
	}
	for name, tt := range map[string]struct {
		log  []request
		want string
	}{
		"nothing":           {ok, ""},
		"a page missing":    {ok[:2], "[3 of 4 pages were fetched]"},
		"a page twice":      {append(ok[:3:3], request{0, 2000 * ms, 2001 * ms}), "[1 request for a page requested before]"},
		"what there is not": {append(ok[:3:3], request{noPage, 2000 * ms, 2001 * ms}), "[1 request for what there is not]"},
		"a gap short": {with(func(l []request) []request { l[2].start = 1109 * ms; return l }),
			"[1 of 4 gaps short of the pace, the smallest 0.499000 s]"},
		"two at once": {with(func(l []request) []request { l[2].start = 605 * ms; return l }),
			"[1 of 4 gaps short of the pace, the smallest -0.005000 s 1 request while as many as allowed were under way at the host]"},
		"one never answered": {with(func(l []request) []request { l[1].end = 0; return l }),
			"[1 of 4 gaps short of the pace, the smallest -0.600000 s 1 request while as many as allowed were under way at the host]"},
		"robots.txt late": {with(func(l []request) []request {
			l[0], l[1] = request{0, 0, ms}, request{robotsPage, 600 * ms, 610 * ms}
			return l
		}),
			"[1 host whose robots.txt was not read first]"},
	} {
		r := judgedOf(WebConfig{Hosts: 2, Pages: 4, Pace: 500 * ms, Width: 1}, tt.log, ok)
		if got := r.Violations(); tt.want == "" && got != nil || tt.want != "" && fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %q, want %s", name, got, tt.want)
		}
	}
}

// hosts ÷ (pace + exchange) is what is permitted; the first request of a host ended no pause and is not counted.
func TestReferee_MeasuresWhatWasPermittedAndAchieved(t *testing.T) {
	var log []request
	for i := range 11 {
		start := time.Duration(i) * 600 * ms
		log = append(log, request{i - 1, start, start + 100*ms})
	}
	r := judgedOf(WebConfig{Hosts: 2, Pages: 20, Pace: 400 * ms, Width: 1}, log, log)
	if r.Permitted != 4 || r.Achieved < 3.333 || r.Achieved > 3.334 || r.Exchange != 0.1 || r.LateMost != 0.1 || r.PerHost < 0.833 || r.PerHost > 0.834 || len(r.Violations()) > 0 {
		t.Errorf("%+v %q", r, r.Violations())
	}
}

func TestServingAPageAllocatesNothing(t *testing.T) {
	b := start(t, WebConfig{Hosts: 2, Pages: 100})
	out, target := make([]byte, 0, 64<<10), []byte(pathOf(17))
	if n := testing.AllocsPerRun(100, func() { out, _ = b.answer(out[:0], 1, target) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
