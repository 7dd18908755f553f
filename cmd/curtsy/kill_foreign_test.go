package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
)

// strangers are hosts of others, each at an address of its own, with a page that links to a few more.
type strangers struct {
	seeds []string

	mu    sync.Mutex
	asked int
	last  map[string]time.Time // start of the last request, by host
	short []string
}

func newStrangers(t *testing.T, hosts, pages int) *strangers {
	t.Helper()
	s := &strangers{last: map[string]time.Time{}}
	for i := range hosts {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.%d.%d:0", 1+i/200, 1+i%200))
		if err != nil {
			t.Skipf("this system has no second loopback address: %v", err)
		}
		srv := &http.Server{Handler: s.host(l.Addr().String(), pages), ReadHeaderTimeout: time.Minute}
		go srv.Serve(l)
		t.Cleanup(func() { srv.Close() })
		s.seeds = append(s.seeds, "http://"+l.Addr().String()+"/")
	}
	return s
}

// host answers for one of them, and notes whom the floor of a second was not kept with (politeness rule 9).
func (s *strangers) host(name string, pages int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		now := time.Now()
		if before, ok := s.last[name]; ok && now.Sub(before) < 990*time.Millisecond {
			s.short = append(s.short, fmt.Sprintf("%s%s came %v after the one before", name, r.URL.Path, now.Sub(before)))
		}
		s.last[name] = now
		s.asked++
		s.mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range pages {
			fmt.Fprintf(w, "<p>%s<a href=/%d>more</a>\n", r.URL.Path, i)
		}
	})
}

func (s *strangers) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// A crawl of hosts of others that is killed at the instant of an exchange, also several times within seconds, keeps its
// pace with each, and its audit finds nothing. (Own hosts, with which TestAKilledCrawlLosesNothing is concerned, are
// exempt from most of what an audit requires.)
func TestAKilledCrawlOfForeignHostsIsAuditedClean(t *testing.T) {
	amongOthers(t)
	if testing.Short() {
		t.Skip("several processes")
	}
	kills, hosts := 4, 40
	if full() {
		kills, hosts = 40, 200
	}
	s := newStrangers(t, hosts, 2)
	dir := filepath.Join(t.TempDir(), "crawl")
	user, says := oneUser(t), ""
	args := append([]string{"crawl", "--own-site", "none", "--dir", dir, "--quiet"}, s.seeds...)
	for done := 0; done < kills; done++ {
		before, more := s.requests(), 1+rand.IntN(2*hosts/3)
		if done == 0 {
			more += hosts // some of the hosts are asked again: an archive without a record cannot be audited
		}
		p := launched(t, user(args...))
		p.until(t, "some requests", func() bool { return s.requests() >= before+more })
		if !p.kill() {
			break
		}
		args = []string{"resume", "--quiet", dir}
		ended(t, curtsy(t, "audit", dir)).want(t, cli.ExitDone)
	}
	if open, err := openSegment(dir); err != nil {
		t.Fatal(err)
	} else if open != "" { // none if the kill came before the first record of a run
		says = "which a kill left open, is completed, and the ledger has a mark of it"
	}
	file := filepath.Join(t.TempDir(), "x.wacz") // with all that the archive holds
	ended(t, user("export", "--format", "wacz", dir, "-o", file)).want(t, cli.ExitDone, says)
	ended(t, curtsy(t, "audit", file)).want(t, cli.ExitDone)
	ended(t, user("resume", "--quiet", dir)).want(t, cli.ExitDone)
	ended(t, curtsy(t, "audit", dir)).want(t, cli.ExitDone)
	for _, short := range s.short {
		t.Error(short)
	}
}
