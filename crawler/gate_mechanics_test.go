package crawler

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/gate"
	"curtsy/frontier"
	"curtsy/robots"
)

// 3.3: robots.txt is the host's first exchange, under its pace, and says who we are.
func TestGate_3_3_TheFirstExchangeOfAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimetable(t, 10*time.Second, 5, func(_ int, rw http.ResponseWriter, r *http.Request) {
			http.SetCookie(rw, &http.Cookie{Name: "id", Value: "7"})
			body(200, "User-agent: *\nAllow: /\n")(rw, r)
		})
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: 10 * time.Second})
		w.wantRobotsAt(0)
		if first := slices.Min(w.when(false)); first < 10*time.Second {
			t.Errorf("the first page was asked for after %v", first)
		}
		log := w.web.Referee().Requests()
		for i, r := range log {
			h := r.Header
			if r.UserAgent == "" || r.UserAgent != log[0].UserAgent || !strings.Contains(strings.ToLower(r.UserAgent), gate.OurToken) {
				t.Errorf("%s as %q, robots.txt as %q", r.Target, r.UserAgent, log[0].UserAgent)
			}
			if h.Get("Cookie") != "" || h.Get("Referer") != "" || h.Get("Accept-Encoding") != "gzip, br" || r.Method != "GET" {
				t.Errorf("%s %s: %v", r.Method, r.Target, h)
			}
			if accept := h.Get("Accept"); (accept == "text/plain, */*;q=0.5") != (i == 0) {
				t.Errorf("%s: Accept: %s", r.Target, accept)
			}
		}
	})
}

// 3.3: one robots request of an authority in flight, and no worker waits.
func TestGate_3_3_OneFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := crawltest.Tree("slow.test", 20), crawltest.Tree("quick.test", 5)
		slow.Robots = crawltest.Robots{Body: "User-agent: *\nAllow: /\n", Delay: 19 * time.Second}
		var seeds []string
		for path := range slow.Pages {
			seeds = append(seeds, "http://slow.test"+path)
		}
		w := newWorld(t, append(seeds, "http://quick.test/"), slow, quick)
		w.cfg.Workers = 2
		start := time.Now()
		s := w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		if got := w.asked("slow.test"); len(got) != 21 || got[0] != "/robots.txt" || slices.Contains(got[1:], "/robots.txt") || s.Status.Robots != 2 {
			t.Errorf("slow.test was asked for %q", got)
		}
		for _, r := range w.web.Referee().Requests() {
			if r.Host == "quick.test" && r.Start.Sub(start) > 19*time.Second {
				t.Errorf("%s waited for the robots.txt of another host: %v", r.Target, r.Start.Sub(start))
			}
		}
	})
}

func TestGate_3_3_AChangedFile(t *testing.T) {
	const open, shut = "User-agent: *\nDisallow: /none\n", "User-agent: *\nDisallow: /\n"
	bubble(t, "3.3 a changed robots.txt: what was closed is open with the next turn", func(t *testing.T) {
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/": {FailFirst: 1, RetryAfter: "600", Links: []string{"/late"}}, "/late": {},
		}}
		site.Robots = crawltest.Robots{Body: shut + "Allow: /$\n", Header: map[string]string{"Cache-Control": "max-age=1200"}}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.Delay, w.cfg.MaxTime = 5*time.Minute, 24*time.Hour
		time.AfterFunc(time.Minute, func() {
			w.web.Change("a.test", func(s *crawltest.Site) { s.Robots.Body = open })
		})
		w.cfg.MaxWait = time.Hour
		w.run()
		w.wantOutcomes("http://a.test/late", "fetched: no match")
	})
}

// 3.3: test again at each redirect hop.
func TestGate_3_3_TestAgainAtEachRedirectHop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/here": {Redirect: "/secret"}, "/secret": {},
			"/there": {Redirect: "http://b.test/step"},
			"/away":  {Redirect: "http://b.test/secret"},
			"/open":  {Redirect: "http://b.test/private"}, "/private": {},
		}}
		a.Robots.Body = "User-agent: *\nDisallow: /secret\nDisallow: /private\n"
		b := &crawltest.Site{Name: "b.test", Pages: map[string]crawltest.Page{
			"/": {}, "/step": {Redirect: "/secret"}, "/secret": {}, "/private": {},
		}}
		b.Robots.Body = "User-agent: *\nDisallow: /secret\n"
		w := newWorld(t, []string{"http://a.test/here", "http://a.test/there", "http://a.test/away", "http://a.test/open", "http://b.test/"}, a, b)
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		w.wantOutcomes("http://a.test/here", "redirected: to http://a.test/secret")
		w.wantOutcomes("http://a.test/secret", "disallowed: disallow rule")
		w.wantOutcomes("http://b.test/step", "redirected: to http://b.test/secret")
		w.wantOutcomes("http://b.test/secret", "disallowed: disallow rule")
		w.wantOutcomes("http://b.test/private", "fetched: no match") // by the rules of its own authority
		for _, r := range w.web.Referee().Requests() {
			if r.Target == "/secret" {
				t.Errorf("%s was asked for %s", r.Host, r.Target)
			}
		}
	})
}

// Each hop is an exchange of the authority it leads to: under its lease, at its pace, between its own pages.
func TestGate_3_3_RedirectHopsKeepEachHostsPace(t *testing.T) {
	for _, hosts := range []int{1, 5} {
		bubble(t, fmt.Sprintf("3.3 each of %d hops under that authority's turn and pace", hosts), func(t *testing.T) {
			a := crawltest.Tree("a.test", 3)
			a.Robots.Redirect, a.Robots.Delay = "http://hop1.test/rules-of-a.txt", 11*time.Second
			sites, seeds := []*crawltest.Site{a}, []string{"http://a.test/"}
			for i := range hosts {
				site := crawltest.Tree(fmt.Sprintf("hop%d.test", i+1), 12)
				site.Robots.Body = fmt.Sprintf("User-agent: *\nCrawl-delay: %d\n", 5+i)
				next := crawltest.Page{Redirect: fmt.Sprintf("http://hop%d.test/rules-of-a.txt", i+2)}
				if i == hosts-1 {
					next = crawltest.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /p2.html\nCrawl-delay: 9\n"}
				}
				site.Pages["/rules-of-a.txt"] = next
				sites, seeds = append(sites, site), append(seeds, "http://"+site.Name+"/")
			}
			w := newWorld(t, seeds, sites...)
			s := w.run()
			w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
			w.paced()
			w.wantAsked("a.test", "/robots.txt", "/", "/p1.html")
			w.wantOutcomes("http://a.test/p2.html", "disallowed: disallow rule")
			if int(s.Status.Fetched) != 2+12*hosts {
				t.Errorf("%d fetched", s.Status.Fetched)
			}
			for i := range hosts {
				name, delay := fmt.Sprintf("hop%d.test", i+1), time.Duration(5+i)*time.Second
				var last time.Time
				for n, r := range w.web.Referee().Requests() {
					if r.Host != name {
						continue
					}
					if !last.IsZero() && r.Start.Sub(last) < delay {
						t.Errorf("request %d: %s%s after %v, its Crawl-delay is %v", n, name, r.Target, r.Start.Sub(last), delay)
					}
					last = r.End
				}
				if n := strings.Count(strings.Join(w.asked(name), " "), "/rules-of-a.txt"); n != 1 {
					t.Errorf("%s was asked %d times for the rules of a.test", name, n)
				}
			}
		})
	}
}

// RFC 9309 2.3.1.2 speaks of the initial authority alone.
func TestGate_3_3_ARedirectSeedsNoOtherAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := crawltest.Tree("a.test", 2), crawltest.Tree("b.test", 2)
		a.Robots.Redirect = "http://b.test/robots.txt"
		b.Robots.Body = "User-agent: *\nAllow: /\n"
		w := newWorld(t, []string{"http://a.test/"}, a, b)
		w.run()
		if h, ok, err := w.front.Host(t.Context(), parse(t, "http://b.test/").Authority()); err != nil || ok && h.Queued > 0 {
			t.Errorf("%+v, %v", h, err)
		}
		if s := w.policy("http://b.test/"); s != (robots.State{}) {
			t.Errorf("b.test has a policy by way of a.test: %+v", s)
		}
	})
}

// keeping notes the bodies that turns hand to the frontier.
type keeping struct {
	frontier.Frontier
	mu    *sync.Mutex
	blobs map[[32]byte]int
}

func (f keeping) Finish(ctx context.Context, rs []frontier.Result) ([]frontier.Finished, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range rs {
		for _, b := range r.Blobs {
			f.blobs[sha256.Sum256(b)]++
		}
	}
	return f.Frontier.Finish(ctx, rs)
}

// 3.3: bodies persisted once per digest.
func TestGate_3_3_BodiesAreKeptOncePerDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const file = "User-agent: *\nDisallow: /p3.html\n"
		a, b, c := crawltest.Tree("a.test", 6), crawltest.Tree("b.test", 6), crawltest.Tree("c.test", 6)
		a.Robots.Body, b.Robots.Body, c.Robots.Body = file, file, file+"# another\n"
		for _, s := range []*crawltest.Site{a, b, c} {
			s.Robots.Header = map[string]string{"Cache-Control": "max-age=300"} // several are confirmed by a 304
		}
		w := newWorld(t, []string{"http://a.test/", "http://b.test/", "http://c.test/"}, a, b, c)
		f := keeping{w.front, new(sync.Mutex), map[[32]byte]int{}}
		w.cfg.Frontier, w.cfg.Delay = f, 100*time.Second
		s := w.run()
		same, other := sha256.Sum256([]byte(file)), sha256.Sum256([]byte(file+"# another\n"))
		if len(f.blobs) != 2 || f.blobs[same] != 2 || f.blobs[other] != 1 || s.Status.Robots < 6 {
			t.Errorf("%d exchanges for robots.txt, kept %v", s.Status.Robots, f.blobs)
		}
		for host, want := range map[string][32]byte{"a": same, "b": same, "c": other} {
			digest, _ := w.policy("http://" + host + ".test/").Body()
			if body, err := w.front.Blob(t.Context(), digest); digest != want || err != nil || sha256.Sum256(body) != want {
				t.Errorf("%s.test: %x, %v, %q", host, digest, err, body)
			}
		}
	})
}
