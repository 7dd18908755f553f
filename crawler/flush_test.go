package crawler

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

// timed is an archive that notes when it was synced. With err its Sync fails, once there is a refusal that old.
type timed struct {
	archive
	refusedAt, syncedAt []time.Time
	err                 error
}

func (a *timed) Refuse(ctx context.Context, l storage.Line) error {
	a.mu.Lock()
	a.refusedAt = append(a.refusedAt, time.Now())
	a.mu.Unlock()
	return a.archive.Refuse(ctx, l)
}

func (a *timed) Sync(ctx context.Context) error {
	a.mu.Lock()
	a.syncedAt = append(a.syncedAt, time.Now())
	old := len(a.refusedAt) > 0 && time.Since(a.refusedAt[0]) >= storage.MaxGather
	a.mu.Unlock()
	if a.err != nil && old {
		return a.err
	}
	return a.archive.Sync(ctx)
}

// waiting is a site with refused links that then wants to be left alone for minutes.
func waiting() *crawltest.Site {
	asked := false
	return &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/":
			rw.Header().Set("Content-Type", "text/html")
			rw.Write([]byte(`<a href="http://b.test/1">x</a><a href="http://b.test/2">x</a><a href="/later">x</a>`))
		case r.URL.Path == "/later" && !asked:
			asked = true
			rw.Header().Set("Retry-After", "300")
			rw.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/later":
		default:
			http.NotFound(rw, r)
		}
	})}
}

// A crawl that waits for a host, and so commits nothing, has its refusals written all the same, and no more often than there
// are some.
func TestRefusalsAreWrittenWhileTheCrawlWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, waiting())
		a := &timed{}
		w.cfg.Recorder = a
		c := w.crawl()
		began := time.Now()
		w.finish(c)
		if len(a.refusedAt) != 2 || time.Since(began) < 5*time.Minute {
			t.Fatalf("%d refusals, %v", len(a.refusedAt), time.Since(began))
		}
		for _, at := range a.refusedAt {
			in := 0
			for _, s := range a.syncedAt {
				if d := s.Sub(at); d >= storage.MaxGather && d <= 2*storage.MaxGather {
					in++
				}
			}
			if in == 0 {
				t.Errorf("refused at %v, and synced at %v", at.Sub(began), since(a.syncedAt, began))
			}
		}
		if n := len(a.syncedAt); n > 6 {
			t.Errorf("%d syncs: %v", n, since(a.syncedAt, began))
		}
	})
}

func since(all []time.Time, began time.Time) (out []time.Duration) {
	for _, at := range all {
		out = append(out, at.Sub(began))
	}
	return out
}

// Refusals that cannot be written end the run: what the archive lacks is not passed over.
func TestRefusalsThatCannotBeWrittenEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, waiting())
		broken := errors.New("no room")
		w.cfg.Recorder = &timed{err: broken}
		c := w.crawl()
		if _, err := c.Run(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	})
}
