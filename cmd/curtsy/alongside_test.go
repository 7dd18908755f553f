package main

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"curtsy/crawler"
)

// Politeness rule 26: whoever asks for a host's robots.txt again and again by a command does so at the pace of a crawl,
// and for hosts at one address at the pace of that. A busy server notices some requests later than others. So the test
// measures from what surely came first: the end of the host's last answer, or the beginning of all.
func TestRule26_RobotsCheckKeepsThePace(t *testing.T) {
	t.Parallel()
	const drift = 10 * time.Millisecond // of the wall clock, by which processes agree
	home := t.TempDir()
	var mu sync.Mutex
	answered := map[string]time.Time{} // the last request of a host: its exchange ends after that
	var all []time.Time
	note := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, time.Now())
		if last, ok := answered[r.Host]; ok && time.Since(last) < crawler.Floor-drift {
			t.Errorf("a request of %s within %v of the end of the one before", r.Host, time.Since(last))
		}
		mu.Unlock()
		_ = http.NewResponseController(w).Flush()
		time.Sleep(800 * time.Millisecond) // a slow body: who waits looks again soon after its end
		mu.Lock()
		defer mu.Unlock()
		answered[r.Host] = time.Now()
	}
	var hosts []string // two authorities at one address
	for range 2 {
		s := httptest.NewServer(http.HandlerFunc(note))
		t.Cleanup(s.Close)
		hosts = append(hosts, s.URL)
	}
	var commands sync.WaitGroup
	begin := time.Now()
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
	if len(all) != 4 || len(answered) != 2 {
		t.Fatalf("%d requests of %d hosts", len(all), len(answered))
	}
	for i, at := range all {
		if took, least := at.Sub(begin), time.Duration(i)*500*time.Millisecond; took < least-drift {
			t.Errorf("request %d at one address comes after %v, want %v at least", i, took, least)
		}
	}
}
