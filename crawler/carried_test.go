package crawler

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
	"curtsy/storage"
)

// asked is the Config.Asked of a ledger in memory.
func (l *lines) asked() (a storage.Asked, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.Kinds = map[string]int64{}
	for _, line := range l.all {
		if line.Record == "" {
			continue
		}
		a.Exchanges++
		a.Octets += line.Octets
		if line.Status > 0 {
			a.Answers++
			for _, kind := range storage.KindsOfAnswer(line.Status, line.Type) {
				a.Kinds[kind]++
			}
		}
		if line.Decision == storage.DecisionRobots {
			a.Robots++
		}
	}
	return a, nil
}

func sum(counts map[string]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// counts checks that a status has all exchanges that are archived, and that there are at least so many.
func (w *world) counts(s status.Status, least int) {
	w.t.Helper()
	told, _ := w.ledger.asked()
	if n := len(w.archive.records); int64(n) != s.Exchanges || n < least || told.Exchanges != s.Exchanges || told.Robots != s.Robots || told.Octets != s.Bytes || told.Answers != sum(s.Answers) ||
		told.Kinds[storage.PrefixStatus+"2xx"] != s.Answers["2xx"] || s.Answers["2xx"] != sum(s.Types) {
		w.t.Errorf("the status has %d exchanges, %d for robots.txt, %d octets; the archive has %d, the ledger %+v",
			s.Exchanges, s.Robots, s.Bytes, n, told)
	}
}

// Exchanges that a kill kept from the frontier are in archive and ledger, and so in the status: before the next turn is
// finished, and behind it.
func TestAKillHidesNoExchangeFromTheStatus(t *testing.T) {
	for _, target := range []string{"/robots.txt", "/busy.html"} {
		bubble(t, target, func(t *testing.T) {
			var ill atomic.Int64
			ill.Store(2)
			site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == target && ill.Add(-1) >= 0:
					withStatus(503, "Retry-After", "20")(rw, r)
				case r.URL.Path == "/robots.txt":
					withStatus(404)(rw, r)
				default:
					body(200, "<p>Bread.", "Content-Type", "text/html")(rw, r)
				}
			})}
			w := newWorld(t, []string{"http://a.test/busy.html", "http://a.test/"}, site)
			w.cfg.MaxWait = time.Hour
			deadly := &lethal{w.ledger, w, 2}
			w.cfg.Ledger, w.cfg.Last = deadly, w.ledger.last()
			w.cfg.Asked = func() (storage.Asked, error) {
				told, err := w.ledger.asked()
				if s, serr := status.Of(t.Context(), w.cfg.Frontier); serr != nil || s.Exchanges >= told.Exchanges {
					t.Errorf("nothing was hidden from the frontier: it counts %d of %d, %v", s.Exchanges, told.Exchanges, serr)
				}
				return told, err
			}
			s := deadly.crawl(t)
			if deadly.kills > 0 {
				t.Fatalf("%d kills did not come", deadly.kills)
			}
			w.counts(s.Status, 5)
		})
	}
}

// The run that follows on a kill says so from its first moment on, and its budget knows.
func TestWhatAKillHidIsSpentOfTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 3))
		w.crashed()
		w.cfg.MaxBytes = 5000
		w.cfg.Asked = func() (storage.Asked, error) {
			return storage.Asked{Exchanges: 7, Answers: 6, Robots: 2, Octets: 5000}, nil
		}
		c := w.crawl()
		if s, err := c.Status(t.Context()); err != nil || s.Exchanges != 7 || s.Robots != 2 || s.Bytes != 5000 {
			t.Errorf("%+v, %v", s, err)
		}
		for range 2 {
			if s := w.finish(c); s.EndedBy != EndedMaxBytes || s.Status.Bytes != 5000 {
				t.Errorf("ended by %q with %d bytes", s.EndedBy, s.Status.Bytes)
			}
			w.reopen() // no turn was taken that could count it
			c = w.crawl()
		}
	})
}
