package crawler

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
)

// between counts the times in [from, to).
func between(at []time.Duration, from, to time.Duration) (n int) {
	for _, d := range at {
		if d >= from && d < to {
			n++
		}
	}
	return n
}

// While the copy is fresh it is used, and asked for again; past its expiry nothing may be fetched until it is there. A
// Retry-After of the server that fails is obeyed first (politeness rule 11).
func TestGate_3_2_RefreshFails(t *testing.T) {
	for _, after := range []time.Duration{0, 200 * time.Second} {
		bubble(t, fmt.Sprintf("3.2 refresh fails, Retry-After %v", after), func(t *testing.T) {
			const first, back = 54 * time.Minute, 100 * time.Minute
			start := time.Now()
			w := newTimetable(t, time.Minute, 120, func(n int, rw http.ResponseWriter, r *http.Request) {
				if since := time.Since(start); n > 1 && since < back {
					if n == 2 && after > 0 {
						rw.Header().Set("Retry-After", fmt.Sprint(after.Seconds()))
					}
					withStatus(500)(rw, r)
					return
				}
				body(200, "User-agent: *\nDisallow: /58$\n", "Cache-Control", "max-age=3600")(rw, r)
			})
			w.run()
			asked, pages := w.when(true), w.when(false)
			if asked[1].Round(time.Second) != first || between(asked, first, time.Hour) < 2 {
				t.Errorf("robots.txt was asked for at %v", asked)
			}
			assert.Equal(t, 0, between(asked, asked[1]+1, asked[1]+after)+between(pages, asked[1], asked[1]+after), "requests within the Retry-After")
			assert.NotEqual(t, 0, between(pages, first, time.Hour), "the copy was not used while it was fresh")
			assert.Equal(t, 0, between(pages, time.Hour, back), "pages were asked for by a copy that had expired")
			assert.NotEqual(t, 0, between(pages, back, 24*time.Hour), "nothing was asked for when robots.txt was back")
			w.wantOutcomes("http://a.test/58", "disallowed: disallow rule")
		})
	}
}

func TestGate_3_2_AfterARestart(t *testing.T) {
	bubble(t, "3.2 entries are used while fresh", func(t *testing.T) {
		file := "User-agent: *\nDisallow: /4$\n"
		w := newTimetable(t, time.Hour, 30, func(_ int, rw http.ResponseWriter, r *http.Request) {
			body(200, "\xEF\xBB\xBF"+file, "ETag", `"v1"`, "Last-Modified", "Sun, 02 Jan 2000 00:00:00 GMT")(rw, r)
		})
		w.cfg.MaxTime = 3*time.Hour + time.Minute
		w.run()
		before := w.policy("http://a.test/")
		w.reopen()
		if got := w.policy("http://a.test/"); got != before || got.Status() != 200 || got.Flags() != robots.BOM || got.FinalURL() != "http://a.test/robots.txt" {
			t.Errorf("kept %+v, there was %+v", got, before)
		}
		digest, ok := before.Body()
		raw, err := w.front.Blob(t.Context(), digest)
		if !ok || err != nil || string(raw) != "\xEF\xBB\xBF"+file || sha256.Sum256(raw) != digest {
			t.Errorf("%v, %v: the body kept is %q", ok, err, raw)
		}
		w.cfg.MaxTime = 0
		w.run()
		w.wantRobotsAt(0, 22*time.Hour+time.Minute) // a run begins with a whole pause
		head := w.robotsRequest(2)
		if tag, date := head.Get("If-None-Match"), head.Get("If-Modified-Since"); tag != `"v1"` || date != "Sun, 02 Jan 2000 00:00:00 GMT" {
			t.Errorf("the validators are now %q, %q", tag, date)
		}
		w.wantOutcomes("http://a.test/4", "disallowed: disallow rule")
	})
	bubble(t, "3.2 failure runs go on counting", func(t *testing.T) {
		w := newTimetable(t, time.Second, 2, func(_ int, rw http.ResponseWriter, r *http.Request) { withStatus(503)(rw, r) })
		w.cfg.MaxTime = 6 * time.Minute
		w.run()
		before := w.policy("http://a.test/")
		if before.Failures() != 3 || before.FirstFailure().Sub(w.start) > time.Second {
			t.Fatalf("%d failures since %v", before.Failures(), before.FirstFailure())
		}
		w.reopen()
		w.cfg.MaxTime = 6 * time.Minute
		w.run()
		after := w.policy("http://a.test/")
		if after.Failures() != 4 || !after.FirstFailure().Equal(before.FirstFailure()) {
			t.Errorf("%d failures since %v", after.Failures(), after.FirstFailure())
		}
		at := w.when(true)
		for i, least := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			if gap := at[i+1] - at[i]; gap < least || gap > least*6/5+time.Second {
				t.Errorf("pause %d is %v", i+1, gap)
			}
		}
	})
}

// A host with nothing left to do is not asked again, however old its robots.txt gets.
func TestGate_3_2_IdleHostsAreNotRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := &crawltest.Site{Name: "busy.test", Pages: map[string]crawltest.Page{}}
		seeds := []string{"http://idle.test/"}
		for i := range 40 {
			busy.Pages[fmt.Sprintf("/%d", i)] = crawltest.Page{}
			seeds = append(seeds, fmt.Sprintf("http://busy.test/%d", i))
		}
		w := newWorld(t, seeds, busy, crawltest.Tree("idle.test", 1))
		w.cfg.Delay, w.cfg.MaxWait = time.Hour, 2*time.Hour
		w.run()
		w.wantAsked("idle.test", "/robots.txt", "/")
		if n := strings.Count(strings.Join(w.asked("busy.test"), " "), "/robots.txt"); n != 2 {
			t.Errorf("robots.txt of the busy host was asked for %d times", n)
		}
	})
}

// Where the pace is as long as the policy's life, a page must come between two requests for robots.txt.
func TestAPolicyThatExpiresWithinThePaceIsUsedOnce(t *testing.T) {
	for _, delay := range []string{"260", "280", "300"} {
		synctest.Test(t, func(t *testing.T) {
			site := crawltest.Tree("a.test", 3)
			site.Robots.Body = "User-agent: *\nDisallow: /p2\nCrawl-delay: " + delay + "\n"
			site.Robots.Header = map[string]string{"Cache-Control": "no-cache"}
			w := newWorld(t, []string{"http://a.test/"}, site)
			w.cfg.MaxTime = 10 * time.Hour
			if s := w.run(); s.Status.Fetched != 2 || s.Status.Disallowed != 1 || s.Status.Robots > 3 {
				t.Errorf("Crawl-delay %s: %d fetched, %d disallowed, robots.txt asked for %d times",
					delay, s.Status.Fetched, s.Status.Disallowed, s.Status.Robots)
			}
		})
	}
}

// Rule 4: scheme, host and port make an authority, which has one policy of its own, fetched before anything else, once,
// however seeds and links spell it.
func TestRule04_OnePolicyForEachAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := func(name, shut string) *crawltest.Site {
			s := crawltest.Tree(name, 4)
			s.Robots.Body = "User-agent: *\nDisallow: " + shut + "\n"
			return s
		}
		sites := []*crawltest.Site{site("a.test", "/p1"), site("a.test:8080", "/p2"), site("xn--bcher-kva.test", "/p3")}
		w := newWorld(t, []string{
			"http://a.test/", "http://A.TEST:80/p3.html", "http://a.test./p2.html", "http://a.test:8080/p1.html", "http://a.test:8080/",
			"http://bücher.test/p1.html", "http://xn--bcher-kva.test/",
		}, sites...)
		w.run()
		w.judged(crawltest.Rules{Pace: Floor})
		for host, shut := range map[string]string{"a.test": "/p1.html", "a.test:8080": "/p2.html", "xn--bcher-kva.test": "/p3.html"} {
			got := w.asked(host)
			slices.Sort(got[1:])
			want := slices.DeleteFunc([]string{"/robots.txt", "/", "/p1.html", "/p2.html", "/p3.html"}, func(s string) bool { return s == shut })
			if !slices.Equal(got, want) {
				t.Errorf("%s was asked for %q, want %q", host, got, want)
			}
		}
	})
}

// Rule 5: a robots.txt that changes while the crawl runs takes effect when the life of the one before is over, for each
// URL when its turn comes: the queue is not swept. What was disallowed stays so, until the operator opens it again.
func TestRule05_AChangedRobotsTxtTakesEffectAfterItsLife(t *testing.T) {
	const (
		life   = time.Hour
		second = 30 * time.Minute  // when the second version is put up
		third  = 100 * time.Minute // and the third
		pages  = 150
	)
	files := []string{"User-agent: *\nDisallow: /none\n", "User-agent: *\nDisallow: /*3$\n", "User-agent: *\nDisallow: /*4$\n"}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := newTimetable(t, time.Minute, pages, func(_ int, rw http.ResponseWriter, r *http.Request) {
			version := 0
			switch since := time.Since(start); {
			case since >= third:
				version = 2
			case since >= second:
				version = 1
			}
			body(200, files[version], "Cache-Control", "max-age=3600")(rw, r)
		})
		w.run()
		learned := w.when(true)
		if len(learned) < 3 || learned[1] < second || learned[1] > life {
			t.Fatalf("robots.txt was asked for at %v", learned)
		}
		shut, most := 0, map[time.Time]int{}
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionRobots {
				continue
			}
			at := l.Time.Sub(start)
			version := 0 // that which was fetched last
			for i := range learned {
				if learned[i] <= at && learned[i] >= second {
					version = 1
				}
				if learned[i] <= at && learned[i] >= third {
					version = 2
				}
			}
			if l.RobotsSHA256 != digestOf([]byte(files[version])) {
				t.Errorf("after %v %s was judged by %.8s, not by version %d", at, l.URL, l.RobotsSHA256, version+1)
			}
			if l.Decision == storage.DecisionDisallow {
				shut++
				most[l.Time]++
			}
		}
		for at, n := range most {
			if n > claimTasks {
				t.Errorf("%d URLs were disallowed at %v: the queue was swept", n, at.Sub(start))
			}
		}
		if shut == 0 || len(most) < 3 {
			t.Fatalf("%d disallowed, at %d instants", shut, len(most))
		}

		// Terminal, whatever robots.txt says later; until the operator's command, which asks for robots.txt first.
		before := len(w.web.Referee().Requests())
		if w.run(); len(w.web.Referee().Requests()) != before {
			t.Error("a run asked again for what was disallowed")
		}
		again, err := w.front.Retry(t.Context(), frontier.Retrial{Outcome: frontier.Disallowed, Robots: true})
		require.NoError(t, err)
		require.Equalf(t, int64(shut), again.URLs, "%+v, %v; %d were disallowed", again, err, shut)
		w.run()
		requests := w.web.Referee().Requests()[before:]
		if requests[0].Target != "/robots.txt" {
			t.Errorf("the first request is for %s", requests[0].Target)
		}
		for _, r := range requests[1:] {
			assert.Falsef(t, strings.HasSuffix(r.Target, "4"), "%s is asked for, which the third version disallows", r.Target)
		}
		w.judged(crawltest.Rules{Pace: Floor, Partial: true})
	})
}
