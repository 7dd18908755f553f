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

// The crawler uses a fresh copy while it requests a new one, and fetches no page after its expiry. Retry-After comes
// first (politeness rule 11).
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
				t.Errorf("robots.txt was requested at %v", asked)
			}
			assert.Equal(t, 0, between(asked, asked[1]+1, asked[1]+after)+between(pages, asked[1], asked[1]+after), "requests within the Retry-After")
			assert.NotEqual(t, 0, between(pages, first, time.Hour), "the copy was not used while it was fresh")
			assert.Equal(t, 0, between(pages, time.Hour, back), "pages were requested by a copy that had expired")
			assert.NotEqual(t, 0, between(pages, back, 24*time.Hour), "no page was requested when robots.txt was back")
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
		requests := slices.DeleteFunc(w.requests("a.test"), func(r crawltest.Request) bool { return r.Target != "/robots.txt" })
		head := requests[1].Header
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

func TestGate_3_2_IdleHostsAreNotRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://idle.test/", "http://busy.test/"}, crawltest.Tree("busy.test", 40), crawltest.Tree("idle.test", 1))
		w.cfg.Delay, w.cfg.MaxWait = time.Hour, 2*time.Hour
		w.run()
		w.wantAsked("idle.test", "/robots.txt", "/")
		assert.Equal(t, 2, count(w.asked("busy.test"), "/robots.txt"), "requests for robots.txt of the busy host")
	})
}

// Where the delay is as long as a policy lasts, a page comes between two requests for robots.txt.
func TestAPolicyThatExpiresWithinThePaceIsUsedOnce(t *testing.T) {
	for _, delay := range []string{"260", "280", "300"} {
		synctest.Test(t, func(t *testing.T) {
			site := crawltest.Tree("a.test", 3)
			site.Robots.Body = "User-agent: *\nDisallow: /p2\nCrawl-delay: " + delay + "\n"
			site.Robots.Header = map[string]string{"Cache-Control": "no-cache"}
			w := newWorld(t, []string{"http://a.test/"}, site)
			w.cfg.MaxTime = 10 * time.Hour
			if s := w.run(); s.Status.Fetched != 2 || s.Status.Disallowed != 1 || s.Status.Robots > 3 {
				t.Errorf("Crawl-delay %s: %d fetched, %d disallowed, robots.txt requested %d times",
					delay, s.Status.Fetched, s.Status.Disallowed, s.Status.Robots)
			}
		})
	}
}

// Scheme, host and port make an authority, whose policy is fetched first, and once, however seeds spell it.
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
			want := slices.DeleteFunc([]string{"/robots.txt", "/", "/p1.html", "/p2.html", "/p3.html"}, func(s string) bool { return s == shut })
			w.wantAskedInAnyOrder(host, want...)
			assert.Equal(t, "/robots.txt", w.asked(host)[0], host)
		}
	})
}

// A changed robots.txt takes effect when the old one expires, for each URL when its turn comes. Disallowed URLs stay
// so until the operator opens it again.
func TestRule05_AChangedRobotsTxtTakesEffectAfterItsLife(t *testing.T) {
	const second, third = 30 * time.Minute, 100 * time.Minute // when each version is put up
	files := []string{"User-agent: *\nDisallow: /none\n", "User-agent: *\nDisallow: /*3$\n", "User-agent: *\nDisallow: /*4$\n"}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		versionAt := func(at time.Duration) int {
			switch {
			case at >= third:
				return 2
			case at >= second:
				return 1
			}
			return 0
		}
		w := newTimetable(t, time.Minute, 150, func(_ int, rw http.ResponseWriter, r *http.Request) {
			body(200, files[versionAt(time.Since(start))], "Cache-Control", "max-age=3600")(rw, r)
		})
		w.run()
		learned := w.when(true)
		if len(learned) < 3 || learned[1] < second || learned[1] > time.Hour {
			t.Fatalf("robots.txt was requested at %v", learned)
		}
		shut, most := 0, map[time.Time]int{}
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionRobots {
				continue
			}
			at := l.Time.Sub(start)
			version := 0 // the one fetched last
			for _, when := range learned {
				if when <= at {
					version = versionAt(when)
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

		// Disallowed is terminal until the operator's command, which requests robots.txt first.
		before := len(w.web.Referee().Requests())
		if w.run(); len(w.web.Referee().Requests()) != before {
			t.Error("a run requested a disallowed URL again")
		}
		again, err := w.front.Retry(t.Context(), frontier.Retrial{Outcome: frontier.Disallowed, Robots: true})
		require.NoError(t, err)
		require.Equalf(t, int64(shut), again.URLs, "%+v, %v; %d were disallowed", again, err, shut)
		w.run()
		requests := w.web.Referee().Requests()[before:]
		assert.Equal(t, "/robots.txt", requests[0].Target, "the first request")
		for _, r := range requests[1:] {
			assert.Falsef(t, strings.HasSuffix(r.Target, "4"), "%s is requested, which the third version disallows", r.Target)
		}
		w.judged(crawltest.Rules{Pace: Floor, Partial: true})
	})
}
