package crawler

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
)

// Whatever is wrong with some URLs of a host, each good one is asked for before any bad one is asked for again, so that it
// waits for no more rests than there are bad ones before it.
func TestRule12_UntriedBeforeFailed(t *testing.T) {
	for _, tr := range troubles() {
		if tr.first == 0 {
			continue
		}
		bubble(t, tr.name, func(t *testing.T) {
			var mu sync.Mutex // a request that timed out is answered by a goroutine that nobody waits for
			asked := map[string]int{}
			begin := time.Now()
			var late time.Duration // the last good page
			site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Connection", "close")
				switch path := r.URL.Path; path {
				case "/robots.txt":
					http.NotFound(rw, r)
				case "/0", "/1":
					mu.Lock()
					if asked[path]++; asked[path] > 1 && len(asked) < 4 {
						t.Errorf("%s is asked for again after %v: asked so far %v", path, time.Since(begin), asked)
					}
					mu.Unlock()
					tr.answer(rw, r, "")
				default:
					mu.Lock()
					asked[path]++
					late = time.Since(begin)
					mu.Unlock()
					fmt.Fprint(rw, "good")
				}
			})}
			w := newWorld(t, seedsOf(4), site)
			w.run()
			mu.Lock()
			defer mu.Unlock()
			if len(asked) != 4 || late > 6*time.Minute {
				t.Errorf("%v: the last good page after %v", asked, late)
			}
		})
	}
}
