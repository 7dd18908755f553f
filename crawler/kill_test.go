package crawler

import (
	"context"
	"errors"
	"iter"
	"math"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
	"curtsy/storage"
)

// ailing is a.test without a robots.txt, whose target responds by h the first n times.
func ailing(target string, n int64, h http.HandlerFunc) *crawltest.Site {
	var ill atomic.Int64
	return &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == target && ill.Add(1) <= n {
			h(rw, r)
			return
		}
		afterRobots(body(200, "<p>Bread.", "Content-Type", "text/html"))(rw, r)
	})}
}

// last is the Config.Last of a ledger in memory.
func (l *lines) last() iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		for _, line := range l.all {
			if (line.Rest > 0 || line.IsPage()) && !yield(line, nil) {
				return
			}
		}
	}
}

// A back-off that a response asked for just before a kill is obeyed, though the frontier lacks it.
func TestRule17_BackOffBeforeAKillIsObeyed(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		answer       http.HandlerFunc
		least        time.Duration
	}{
		{"Retry-After of a 503", "/busy.html", withStatus(503, "Retry-After", "20"), 20 * time.Second},
		{"Retry-After of a redirect", "/busy.html", withStatus(302, "Retry-After", "20", "Location", "/"), 20 * time.Second},
		{"Retry-After of robots.txt", "/robots.txt", withStatus(503, "Retry-After", "90"), 90 * time.Second},
		{"429 without Retry-After", "/busy.html", withStatus(429), time.Minute},
		{"500", "/busy.html", withStatus(500), 30 * time.Second},
		{"robots.txt that is unreachable", "/robots.txt", withStatus(500), time.Minute}, // rule 6
		{"RateLimit", "/busy.html", withStatus(200, "RateLimit", `"p";r=0;t=40`), 40 * time.Second},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/busy.html", "http://a.test/", "http://a.test/c.html"}, ailing(tt.target, 2, tt.answer))
			w.cfg.MaxWait = time.Hour
			kills := 2
			w.ledger.after = func(line storage.Line) { // archive and ledger have the exchange, the frontier does not
				if line.Rest > 0 && kills > 0 {
					kills--
					w.front.Kill()
				}
			}
			w.cfg.Last = w.ledger.last()
			var s Summary
			for range 40 {
				var err error
				if s, err = w.crawl().Run(t.Context()); err == nil && s.EndedBy == EndedDrained {
					break
				}
				if err != nil {
					w.crashed()
				} else { // a crawl without a response so far does not wait for long
					time.Sleep(10 * time.Second)
				}
			}
			if kills > 0 || s.EndedBy != EndedDrained {
				t.Errorf("%d kills did not come; ended by %q", kills, s.EndedBy)
			}
			requests, asking := w.web.Referee().Requests(), 0
			for i, r := range requests {
				if r.Target != tt.target || asking == 2 || i+1 == len(requests) {
					continue
				}
				asking++
				if gap := requests[i+1].Start.Sub(r.End); gap < tt.least {
					t.Errorf("%s came %v after %s, which asked for %v", requests[i+1].Target, gap, r.Target, tt.least)
				}
			}
			assert.Equal(t, 2, asking, "responses asked for a back-off")
		})
	}
}

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

// counts checks that the status has all archived exchanges, at least so many.
func (w *world) counts(s status.Status, least int) {
	w.t.Helper()
	told, _ := w.ledger.asked()
	if n := len(w.archive.records); int64(n) != s.Exchanges || n < least || told.Exchanges != s.Exchanges || told.Robots != s.Robots || told.Octets != s.Bytes || told.Answers != sum(s.Answers) ||
		told.Kinds[storage.PrefixStatus+"2xx"] != s.Answers["2xx"] || s.Answers["2xx"] != sum(s.Types) {
		w.t.Errorf("the status has %d exchanges, %d for robots.txt, %d octets; the archive has %d, the ledger %+v",
			s.Exchanges, s.Robots, s.Bytes, n, told)
	}
}

// The next run counts the exchanges that only the ledger has, from its start and in its budget.
func TestKill_LostExchangesCountForTheBudget(t *testing.T) {
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
			w.reopen() // no turn was applied that could count it
			c = w.crawl()
		}
	})
}

// syncs counts the syncs of a crawl, without those of the frontier's barrier.
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

// A back-off is durable before the next request, for one sync of the ledger.
func TestRule17_ARestCostsOneSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s syncs
		site := ailing("/busy.html", math.MaxInt64, withStatus(503, "Retry-After", "20"))
		answer := site.Handler
		site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			assert.Equalf(t, 0, s.pending, "%s was requested before the back-off was durable", r.URL.Path)
			answer.ServeHTTP(rw, r)
		})
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

// The ledger records the begin of a run before its first request. A run that it cannot record sends none.
func TestTheLedgerMarksARunBeforeItsFirstExchange(t *testing.T) {
	for _, failure := range []error{nil, errors.New("no room")} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {}}})
			begun, before := 0, 0
			w.ledger.begin = func() error {
				begun++
				before += len(w.web.Referee().Requests())
				return failure
			}
			_, err := w.crawl().Run(t.Context())
			require.ErrorIs(t, err, failure)
			if asked := len(w.web.Referee().Requests()); begun != 1 || before != 0 || (asked > 0) != (failure == nil) {
				t.Errorf("the run began %d times, after %d of %d requests", begun, before, asked)
			}
		})
	}
}

// timed is an archive that notes the times of refusals and syncs. With err, Sync fails once a refusal is old.
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

// waiting is a site with refused links that then asks for a delay of minutes.
func waiting() *crawltest.Site {
	return &crawltest.Site{Name: "a.test", Pages: pages{
		"/": {Links: []string{"http://b.test/1", "http://b.test/2", "/later"}}, "/later": {FailFirst: 1, RetryAfter: "300"},
	}}
}

// A crawl that waits for a host, and so makes no commits, still writes its refusals, and syncs only while it has some.
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
			assert.NotZerof(t, in, "refused at %v, and synced at %v", at, a.syncedAt)
		}
		assert.LessOrEqual(t, len(a.syncedAt), 6, "syncs")
	})
}

func TestRefusalsThatCannotBeWrittenEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, waiting())
		broken := errors.New("no room")
		w.cfg.Recorder = &timed{err: broken}
		_, err := w.crawl().Run(t.Context())
		require.ErrorIs(t, err, broken)
	})
}
