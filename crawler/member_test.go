package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// silences are the times in which a member may send no requests. The context ends for every other one only, as in a
// process that was stopped.
type silences [][2]time.Time

func (s silences) MayAsk() error {
	now := time.Now()
	for _, x := range s {
		if !now.Before(x[0]) && now.Before(x[1]) {
			return errors.New("silent")
		}
	}
	return nil
}

func (silences) Hurry(time.Duration) {}

func (silences) OnSeed(func(canon.URL)) {}

func (s silences) Asking(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	for i, x := range s {
		if d := time.Until(x[0]); d > 0 && i%2 == 0 {
			time.AfterFunc(d, cancel)
		}
	}
	return ctx, cancel
}

// A silent member sends no request of any kind, cuts those under way, and repeats them later.
func TestMember_SilentSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 1700 * time.Millisecond
		own := crawltest.Tree("localhost", 80)
		own.Latency = slow
		web := crawltest.New(own, &crawltest.Site{
			Name: "a.test", Latency: slow, Robots: crawltest.Robots{Redirect: "http://b.test/robots.txt"},
			Pages: map[string]crawltest.Page{
				"/": {Redirect: "/1"}, "/1": {Links: []string{"/2", "/3"}}, "/2": {}, "/3": {},
				"/map.xml": {Type: "application/xml", Body: `<urlset><url><loc>http://a.test/4</loc></url></urlset>`}, "/4": {},
			},
		}, &crawltest.Site{Name: "b.test", Latency: slow, Robots: crawltest.Robots{Body: "Sitemap: http://a.test/map.xml\n"}})
		w := newWorldOf(t, []string{"http://localhost/", "http://a.test/"}, web)
		w.cfg.Sitemaps.Robots, w.cfg.PerHost, w.cfg.Delay = true, 4, -1
		begin := time.Now()
		var quiet silences
		for at := time.Duration(0); at < 2*time.Minute; at += 5300 * time.Millisecond { // not a multiple of the time of a page
			quiet = append(quiet, [2]time.Time{begin.Add(at), begin.Add(at + 2*time.Second)})
		}
		w.cfg.Member = quiet
		w.onDo(func(ctx context.Context, r fetch.Request, next fetcher) (*fetch.Exchange, error) {
			time.Sleep(700 * time.Millisecond) // to connect
			return next.Do(ctx, r)
		})
		s := w.run()
		if s.EndedBy != EndedDrained || s.Status.Fetched != 85 || s.Status.Redirected != 1 {
			t.Errorf("ended by %s: %d fetched, %d redirected", s.EndedBy, s.Status.Fetched, s.Status.Redirected)
		}
		cut := 0
		for _, r := range w.web.Referee().Requests() {
			if r.Cut {
				cut++
			}
			for _, x := range quiet {
				if r.Start.After(x[0]) && r.Start.Before(x[1]) {
					t.Errorf("%s%s is requested %v after the beginning of a silence", r.Host, r.Target, r.Start.Sub(x[0]))
				}
			}
		}
		assert.NotEqual(t, 0, cut, "no exchange was under way when a silence began")
	})
}

// elsewhere is a frontier in which another member owns b.test.
type elsewhere struct{ frontier.Frontier }

func (e elsewhere) Host(ctx context.Context, a canon.Authority) (frontier.Host, bool, error) {
	h, ok, err := e.Frontier.Host(ctx, a)
	h.Elsewhere = a.Host() == "b.test"
	return h, ok, err
}

func (e elsewhere) ClaimAuthority(context.Context, canon.Authority) (frontier.Turn, error) {
	return frontier.Turn{}, frontier.ErrNotDue
}

// A robots.txt that redirects to a host of another member is unreachable.
func TestMember_RobotsRedirectElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"},
			&crawltest.Site{Name: "a.test", Robots: crawltest.Robots{Redirect: "http://b.test/robots.txt"}, Pages: map[string]crawltest.Page{"/": {}}},
			&crawltest.Site{Name: "b.test"})
		w.cfg.Frontier, w.cfg.Member = elsewhere{w.front}, silences{}
		begin := time.Now()
		s := w.run()
		const why = "robots.txt redirects to http://b.test, which another member of the fleet owns"
		if len(s.Status.Resting) != 1 || s.Status.Resting[0].Reason != why || time.Since(begin) > time.Minute {
			t.Errorf("after %v: %+v", time.Since(begin), s.Status.Resting)
		}
		w.wantAsked("a.test", "/robots.txt")
	})
}

// extended is a frontier in which another member extends the scope to b.test before the first claim.
type extended struct {
	frontier.Frontier
	silences
	on func(canon.URL)
}

func (e *extended) OnSeed(f func(canon.URL)) { e.on = f }

func (e *extended) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	u, err := canon.Parse("http://b.test/")
	if err == nil && e.on != nil {
		e.on(u)
	}
	return e.Frontier.Claim(ctx, w)
}

func TestMember_ScopeExtendedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"},
			&crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {Links: []string{"http://b.test/1"}}}},
			&crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{"/1": {}}})
		e := &extended{Frontier: w.front}
		w.cfg.Frontier, w.cfg.Member = e, e
		w.run()
		w.wantAsked("b.test", "/robots.txt", "/1")
	})
}

// moving is a frontier in which every other turn of a host comes from another owner.
type moving struct {
	frontier.Frontier
	turns map[canon.Authority]int
	rests []time.Duration // that another owner would know of before the turn is finished
}

func (m *moving) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if s.Act == frontier.Rest {
		m.rests = append(m.rests, s.For)
	}
	return m.Frontier.Steer(ctx, s)
}

func (m *moving) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	c, err := m.Frontier.Claim(ctx, w)
	for i := range c.Turns {
		h := &c.Turns[i].Host
		if m.turns[h.Authority]++; m.turns[h.Authority]%2 == 1 && m.turns[h.Authority] > 1 {
			h.Moved, h.Robots = true, nil
		}
	}
	return c, err
}

// Crawl-delay, RateLimit and Retry-After bind the next owner of a host, which requests robots.txt again.
func TestMember_NextOwnerIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 6
		page := 0
		robots := crawltest.Robots{Body: "User-agent: *\nCrawl-delay: 3\n"}
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Robots: robots, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch page++; page {
			case 2:
				rw.Header().Set("RateLimit", `"q";r=2;t=40`)
			case 3:
				rw.Header().Set("Retry-After", "70")
				rw.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			rw.Header().Set("Content-Type", "text/html")
			if page < pages {
				fmt.Fprintf(rw, `<a href="/%d">x</a>`, page)
			}
		})})
		m := &moving{Frontier: w.front, turns: map[canon.Authority]int{}}
		w.cfg.Frontier, w.cfg.Member = m, silences{}
		w.run()
		assert.Containsf(t, m.rests, 70*time.Second, "rests that others know of: %v, want 1m10s among them", m.rests)
		var got []string
		var last time.Time
		for _, r := range w.web.Referee().Requests() {
			if last.IsZero() {
				last = r.Start
			}
			got = append(got, fmt.Sprint(r.Target, " ", r.Start.Sub(last).Round(time.Second)))
			last = r.End
		}
		const want = "[/robots.txt 0s / 3s /robots.txt 3s /1 3s /robots.txt 20s /2 20s /robots.txt 1m10s /2 3s /robots.txt 3s /4 3s /robots.txt 3s /5 3s]"
		assert.Equalf(t, want, fmt.Sprint(got), "requests, and the time since the one before:\n%s", got)
	})
}
