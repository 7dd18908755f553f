package crawler

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
)

// syncs counts the syncs that a crawl asks for by itself; those of the frontier's barrier go by it.
type syncs struct {
	*lines
	rests, pending, ofLedger, ofArchive int
}

func (s *syncs) Append(ctx context.Context, l storage.Line) error {
	if l.Rest > 0 {
		s.rests++
		s.pending++
	}
	return s.lines.Append(ctx, l)
}

func (s *syncs) Sync(ctx context.Context) error {
	s.ofLedger++
	s.pending = 0
	return s.lines.Sync(ctx)
}

// synced is the archive of a crawl whose syncs are counted.
type synced struct {
	*archive
	s *syncs
}

func (a synced) Sync(ctx context.Context) error {
	a.s.ofArchive++
	return a.archive.Sync(ctx)
}

// Rule 17: what an answer asks for is durable before anything else is done, which costs one sync: the ledger's.
func TestRule17_ARestCostsOneSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s syncs
		site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if s.pending != 0 {
				t.Errorf("%s was asked for while a rest was not durable", r.URL.Path)
			}
			switch r.URL.Path {
			case "/busy.html":
				withStatus(503, "Retry-After", "20")(rw, r)
			case "/robots.txt":
				withStatus(404)(rw, r)
			default:
				body(200, "<p>Bread.", "Content-Type", "text/html")(rw, r)
			}
		})}
		w := newWorld(t, []string{"http://a.test/busy.html", "http://a.test/"}, site)
		s.lines = w.ledger
		w.cfg.Ledger, w.cfg.Recorder = &s, synced{w.archive, &s}
		c := w.crawl()
		w.finish(c)
		if s.rests == 0 || s.ofLedger != s.rests || s.ofArchive != 0 {
			t.Errorf("%d rests: %d syncs of the ledger, %d of the archive", s.rests, s.ofLedger, s.ofArchive)
		}
	})
}
