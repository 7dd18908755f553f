package main

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"curtsy/crawler"
)

// Politeness rule 26: whoever asks for a host's robots.txt again and again by a command does so at the pace of a crawl, and
// for hosts at one address at the pace of that.
func TestRule26_RobotsCheckKeepsThePace(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var mu sync.Mutex
	asked := map[string][]time.Time{}
	var all []time.Time
	note := func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.Host] = append(asked[r.Host], time.Now())
		all = append(all, time.Now())
	}
	var hosts []string // two authorities at one address
	for range 2 {
		s := httptest.NewServer(http.HandlerFunc(note))
		t.Cleanup(s.Close)
		hosts = append(hosts, s.URL)
	}
	var commands sync.WaitGroup
	for i := range 4 {
		cmd := curtsy(t, "robots", "check", hosts[i%2]+"/")
		cmd.Env = append(cmd.Env, "CURTSY_OWN_SITE=none", "XDG_CACHE_HOME="+home, "LocalAppData="+home)
		commands.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	commands.Wait()
	if len(all) != 4 || len(asked) != 2 {
		t.Fatalf("%d requests of %d hosts", len(all), len(asked))
	}
	const grain = 20 * time.Millisecond // of when a server notices a request
	for i := range all[1:] {
		if gap := all[i+1].Sub(all[i]); gap < 500*time.Millisecond-grain {
			t.Errorf("two requests at one address within %v", gap)
		}
	}
	for host, at := range asked {
		if gap := at[1].Sub(at[0]); gap < crawler.Floor-grain {
			t.Errorf("two requests of %s within %v", host, gap)
		}
	}
}
