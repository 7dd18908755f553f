package crawler

import (
	"context"
	"iter"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/frontier/model"
	"curtsy/storage"
)

// lethal is a ledger after whose lines that say a rest the process dies, a few times: archive and ledger have the exchange,
// the frontier has not.
type lethal struct {
	*lines
	w     *world
	kills int
}

func (l *lethal) Append(ctx context.Context, line storage.Line) error {
	err := l.lines.Append(ctx, line)
	if line.Rest > 0 && l.kills > 0 {
		l.kills--
		l.w.front.(*model.Model).Crash()
	}
	return err
}

// crawl crawls to the end, and after each kill again.
func (l *lethal) crawl(t *testing.T) (s Summary) {
	t.Helper()
	w := l.w
	for range 40 {
		var err error
		if s, err = w.crawl().Run(t.Context()); err == nil && s.EndedBy == EndedDrained {
			break
		}
		if err != nil {
			w.crashed()
		} else { // a crawl that nobody has answered yet does not wait for long
			time.Sleep(10 * time.Second)
		}
	}
	return s
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

// Rule 17: no park is forgotten, not even one that an answer asked for which came just before a kill. Killed after each
// such answer, before the frontier knows of it, the crawl asks the host no sooner than the answer said.
func TestRule17_WhatAHostSaidJustBeforeAKillIsObeyed(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		answer       http.HandlerFunc
		least        time.Duration
	}{
		{"Retry-After of a 503", "/busy.html", withStatus(503, "Retry-After", "20"), 20 * time.Second},
		{"Retry-After of a redirect", "/busy.html", withStatus(302, "Retry-After", "20", "Location", "/"), 20 * time.Second},
		{"Retry-After of robots.txt", "/robots.txt", withStatus(503, "Retry-After", "90"), 90 * time.Second},
		{"429 that does not say", "/busy.html", withStatus(429), time.Minute},
		{"500", "/busy.html", withStatus(500), 30 * time.Second},
		{"robots.txt that cannot be had", "/robots.txt", withStatus(500), time.Minute}, // rule 6
		{"RateLimit", "/busy.html", withStatus(200, "RateLimit", `"p";r=0;t=40`), 40 * time.Second},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			var ill atomic.Int64
			ill.Store(2)
			site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{}}
			site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == tt.target && ill.Add(-1) >= 0:
					tt.answer(rw, r)
				case r.URL.Path == "/robots.txt":
					withStatus(404)(rw, r)
				default:
					body(200, "<p>Bread.", "Content-Type", "text/html")(rw, r)
				}
			})
			w := newWorld(t, []string{"http://a.test/busy.html", "http://a.test/", "http://a.test/c.html"}, site)
			w.cfg.MaxWait = time.Hour
			deadly := &lethal{w.ledger, w, 2}
			w.cfg.Ledger, w.cfg.Last = deadly, w.ledger.last()
			s := deadly.crawl(t)
			if deadly.kills > 0 || s.EndedBy != EndedDrained {
				t.Errorf("%d kills did not come; ended by %q", deadly.kills, s.EndedBy)
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
			if asking != 2 {
				t.Errorf("%d answers asked for a rest", asking)
			}
		})
	}
}

// closedPort is a fetcher to which a host's port is closed, a few times.
type closedPort struct {
	fetcher
	times int
	tried []time.Time
}

func (c *closedPort) Do(ctx context.Context, q fetch.Request) (*fetch.Exchange, error) {
	if q.URL.Host() != "closed.test" {
		return c.fetcher.Do(ctx, q)
	}
	c.tried = append(c.tried, time.Now())
	if c.times--; c.times < 0 {
		return c.fetcher.Do(ctx, q)
	}
	return fetch.Unmade(q.URL, &fetch.Failure{Class: fetch.Connect, Err: syscall.ECONNREFUSED}), nil
}

// Rule 17: nor is the rest of a host forgotten that could not be reached at all, of which there is no record.
func TestRule17_ARestAfterAnAttemptThatReachedNobodyOutlivesAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://closed.test/", "http://open.test/"},
			&crawltest.Site{Name: "closed.test", Pages: map[string]crawltest.Page{"/": {}}}, &crawltest.Site{Name: "open.test", Pages: map[string]crawltest.Page{"/": {}}})
		w.cfg.MaxWait = time.Hour
		gate := &closedPort{fetcher: w.cfg.Fetcher, times: 2}
		deadly := &lethal{w.ledger, w, 2}
		w.cfg.Fetcher, w.cfg.Ledger, w.cfg.Last = gate, deadly, w.ledger.last()
		if s := deadly.crawl(t); deadly.kills > 0 || s.EndedBy != EndedDrained {
			t.Fatalf("%d kills did not come; ended by %q", deadly.kills, s.EndedBy)
		}
		for i := range 2 {
			if gap := gate.tried[i+1].Sub(gate.tried[i]); gap < time.Minute {
				t.Errorf("attempt %d came %v after one that failed, want %v (rules 6 and 12)", i+2, gap, time.Minute)
			}
		}
	})
}
