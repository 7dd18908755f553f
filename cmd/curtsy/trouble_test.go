package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawltest"
	"curtsy/storage/plainly"
)

// deadPort is a loopback address at which nobody listens.
func deadPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/"
}

// A crawl with dead, refusing and broken hosts ends, says which and why, and the next run goes on from there: it asks
// nobody before his time.
func TestRule12_ACrawlWithDeadRefusingAndBrokenHostsEndsAndGoesOn(t *testing.T) {
	t.Parallel()
	fail := func(status int, fields ...string) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" && status != 403 {
				http.NotFound(rw, r)
				return
			}
			for i := 0; i < len(fields); i += 2 {
				rw.Header().Set(fields[i], fields[i+1])
			}
			rw.WriteHeader(status)
		})
	}
	broken := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		panic(http.ErrAbortHandler)
	})
	well := crawltest.Tree("well.test", 5)
	web := crawltest.New(well,
		&crawltest.Site{Name: "busy.test", Handler: fail(429, "Retry-After", "100")},
		&crawltest.Site{Name: "away.test", Handler: fail(503, "Retry-After", "172800")},
		&crawltest.Site{Name: "refusing.test", Handler: fail(403)},
		&crawltest.Site{Name: "failing.test", Handler: fail(500)},
		&crawltest.Site{Name: "broken.test", Handler: broken},
	)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dead := deadPort(t)
	args := []string{"crawl", "--delay", "0", "--max-wait", "3s", "--json", "--dir", filepath.Join(t.TempDir(), "d"), dead}
	dir := args[len(args)-2]
	want := map[string][2]string{strings.TrimSuffix(dead, "/"): {"parked", "robots.txt: connect"}}
	for host, w := range map[string][2]string{
		"busy.test": {"parked", "status 429, Retry-After 1m40s"}, "away.test": {"retired", "status 503, Retry-After 48h0m0s"},
		"refusing.test": {"refused", "status 403 for robots.txt and for the first page"},
		"failing.test":  {"parked", "status 500"}, "broken.test": {"parked", "reset"},
	} {
		seed := web.LoopbackURL(host)
		want[strings.TrimSuffix(seed, "/")] = w
		args = append(args, seed, seed+"other")
	}
	args = append(args, web.LoopbackURL("well.test"))
	r := inside(t, args...)
	r.want(t, cli.ExitIncomplete, "the remaining URLs are not due within --max-wait", "curtsy resume", "failures", "(429)", "(5xx)",
		plainly.Reason("reset"), plainly.Reason("connect"))
	var s crawler.Summary
	if err := json.Unmarshal([]byte(r.out), &s); err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for _, h := range s.Status.Resting {
		got[h.Host] = [2]string{h.Condition, h.Reason}
		if !strings.Contains(r.err, h.Host+" "+h.Condition) {
			t.Errorf("the terminal does not say that %s is %s", h.Host, h.Condition)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the list is\n%v, want\n%v", got, want)
	}
	if f := s.Status.Failures; f["429"] != 1 || f["5xx"] != 2 || f["reset"] != 1 || f["connect"] != 1 || s.Status.Fetched != 5 {
		t.Errorf("%d fetched; failures %v", s.Status.Fetched, f)
	}

	before := len(web.Referee().Requests())
	again := inside(t, "resume", "--json", dir)
	again.want(t, cli.ExitIncomplete)
	if n := len(web.Referee().Requests()); n != before {
		t.Errorf("%d requests of a resumed crawl, before anybody's time", n-before)
	}
	status := inside(t, "status", dir)
	status.want(t, cli.ExitDone)
	for _, says := range []string{"failures", "refused: status 403 for robots.txt", "Retry-After 1m40s"} {
		if !strings.Contains(status.out, says) {
			t.Errorf("status lacks %q:\n%s", says, status.out)
		}
	}
	reopened(t, dir)
}
