package crawler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

func parse(t *testing.T, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestTheDemosWebIsCrawledWithoutAViolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := crawltest.Demo(7)
		w := newWorldOf(t, web.Seeds(), web)
		w.cfg.LoopbackForeign = true
		s := w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		if s.Status.Fetched < 50 {
			t.Errorf("only %d fetched", s.Status.Fetched)
		}
	})
}

func TestRule05_DisallowedIsSettledWithoutAnExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("bakery.test", 6)
		site.Robots.Body = "User-agent: *\nDisallow: /p1\nDisallow: /p3.html\n"
		w := newWorld(t, []string{"http://bakery.test/"}, site)
		s := w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		w.wantAsked("bakery.test", "/robots.txt", "/", "/p2.html", "/p4.html")
		w.wantOutcomes("http://bakery.test/p1.html", "disallowed: disallow rule")
		if s.Status.Disallowed != 2 {
			t.Errorf("%d disallowed, want 2", s.Status.Disallowed)
		}
		for _, l := range w.ledger.all {
			if l.URL == "http://bakery.test/p3.html" && (l.RobotsLine != 3 || l.RobotsRule != "Disallow: /p3.html" || len(l.RobotsSHA256) != 64 || l.Standard != "rfc9309") {
				t.Errorf("the line does not say which rule decided: %+v", l)
			}
		}
	})
}

// shutAll is a frontier that says Waiting where it could say Drained: its last URLs were dropped while it was asked.
type shutAll struct{ frontier.Frontier }

func (f shutAll) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	c, err := f.Frontier.Claim(ctx, w)
	if c.State == frontier.Drained && len(c.Turns) == 0 {
		c.State, c.Due = frontier.Waiting, frontier.Never
	}
	return c, err
}

func TestEndedBy_NothingIsWaitedForWhenNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://bakery.test/"}, crawltest.Tree("bakery.test", 2))
		w.cfg.Frontier = shutAll{w.front}
		if s := w.run(); s.EndedBy != EndedDrained || s.Incomplete || s.Status.State != "finished" {
			t.Errorf("%+v", s)
		}
	})
}

func TestRule09_SlowHostsAreAskedLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("slow.test", 4)
		site.Latency = 2 * time.Second
		w := newWorld(t, []string{"http://slow.test/"}, site)
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: 5 * site.Latency})
	})
}

func TestRedirectIsAnOutcomeAndItsTargetACandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
			"/":        {Links: []string{"/old", "/loop1", "/away", "/nowhere"}},
			"/old":     {Redirect: "/new"},
			"/new":     {},
			"/loop1":   {Redirect: "/loop2"},
			"/loop2":   {Redirect: "/loop1"},
			"/away":    {Redirect: "http://library.test/"},
			"/nowhere": {Redirect: "gopher://bakery.test/"},
		}}
		w := newWorld(t, []string{"http://bakery.test/"}, site, crawltest.Tree("library.test", 2))
		s := w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		w.wantOutcomes("http://bakery.test/old", "redirected: to http://bakery.test/new")
		w.wantOutcomes("http://bakery.test/new", "fetched: unavailable")
		w.wantOutcomes("http://bakery.test/loop2", "redirected: to http://bakery.test/loop1")
		w.wantOutcomes("http://bakery.test/nowhere", "failed: redirect: scheme")
		w.wantOutcomes("http://library.test/", "dropped: scope:host")
		w.wantAsked("library.test")
		if s.Status.Redirected != 4 {
			t.Errorf("%d redirected, want 4", s.Status.Redirected)
		}
	})
}

func TestARedirectToItsOwnKeyReplacesTheURLOnceThenItIsALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		site := &crawltest.Site{Name: "bakery.test", Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.RequestURI)
			switch r.RequestURI {
			case "/":
				rw.Header().Set("Content-Type", "text/html")
				rw.Write([]byte(`<a href="/%7ejoe">joe</a> <a href="/%7eeve">eve</a>`))
			case "/%7ejoe", "/%7Eeve":
				http.Redirect(rw, r, strings.Replace(strings.Replace(r.RequestURI, "%7e", "~", 1), "%7E", "%7e", 1), http.StatusMovedPermanently)
			case "/%7eeve":
				http.Redirect(rw, r, "/%7Eeve", http.StatusMovedPermanently)
			case "/~joe":
				rw.Write([]byte("joe"))
			default:
				http.NotFound(rw, r)
			}
		})}
		w := newWorld(t, []string{"http://bakery.test/"}, site)
		w.run()
		w.wantOutcomes("http://bakery.test/%7ejoe", "deferred: redirect to its own key")
		w.wantOutcomes("http://bakery.test/~joe", "fetched: unavailable")
		w.wantOutcomes("http://bakery.test/%7eeve", "deferred: redirect to its own key")
		w.wantOutcomes("http://bakery.test/%7Eeve", "failed: redirect loop")
	})
}

func TestASeedsRedirectExtendsTheScopeToWhereItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://short.test/x"},
			&crawltest.Site{Name: "short.test", Pages: map[string]crawltest.Page{"/x": {Redirect: "http://hop.test/y"}}},
			&crawltest.Site{Name: "hop.test", Pages: map[string]crawltest.Page{"/y": {Redirect: "http://library.test/"}, "/other": {}}},
			crawltest.Tree("library.test", 3))
		s := w.run()
		w.wantAsked("library.test", "/robots.txt", "/", "/p1.html", "/p2.html")
		w.wantAsked("hop.test", "/robots.txt", "/y")
		seeds, err := frontier.SeedsOf(t.Context(), w.front)
		if err != nil || len(seeds) != 2 || seeds[1].URL.String() != "http://library.test/" || seeds[1].From != "http://short.test/x" {
			t.Errorf("seeds %+v, %v", seeds, err)
		}
		if s.Incomplete || s.SeedsUnanswered != 0 || !slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, "the scope now includes it") }) {
			t.Errorf("%+v, said %q", s, w.said)
		}
	})
}

func TestACrawlThatNothingAnswersEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://nowhere.test/"})
		start := time.Now()
		s := w.run()
		if took := time.Since(start); took > 10*time.Second || !s.Incomplete || s.EndedBy != EndedWaiting {
			t.Errorf("took %v: %+v", took, s)
		}
		if len(s.Status.Resting) != 1 || !strings.Contains(s.Status.Resting[0].Reason, "nxdomain") {
			t.Errorf("resting: %+v", s.Status.Resting)
		}
	})
}

// count returns a total that the frontier keeps.
func (w *world) count(name string) int64 {
	w.t.Helper()
	st, err := w.front.Stats(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return st.Counts[name]
}

func TestABodyThatIsStillCodedIsNotReadAsHTML(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
			"/":  {Links: []string{"/x"}, Header: map[string]string{"Content-Encoding": "compress", "X-Robots-Tag": "noarchive"}},
			"/x": {},
		}}
		w := newWorld(t, []string{"http://bakery.test/"}, site)
		s := w.run()
		w.wantAsked("bakery.test", "/robots.txt", "/")
		if s.Status.Pages != 1 || s.Status.NotRead["content coding"] != 1 {
			t.Errorf("%d pages, not read: %v", s.Status.Pages, s.Status.NotRead)
		}
		if r := w.archive.records[1]; r.Truncated == "" {
			t.Error("the field that forbids archiving was not heeded")
		}
	})
}

func TestAnswersWithoutABodyAreNoPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
			"/": {Status: 204, Header: map[string]string{"X-Robots-Tag": "noarchive"}},
		}}
		w := newWorld(t, []string{"http://bakery.test/"}, site)
		s := w.run()
		w.wantOutcomes("http://bakery.test/", "fetched: unavailable")
		if s.Status.Pages != 0 || s.Status.Fetched != 1 {
			t.Errorf("%d pages, %d fetched", s.Status.Pages, s.Status.Fetched)
		}
		if r := w.archive.records[1]; r.Truncated != "" {
			t.Errorf("nothing was left out, and yet the record is truncated: %q", r.Truncated)
		}
	})
}

func TestBytesAreTheOctetsReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("bakery.test", 4)
		site.Pages["/p1.html"] = crawltest.Page{Redirect: "/p2.html"}
		delete(site.Pages, "/p3.html")
		site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.RequestURI == "/robots.txt" {
				http.NotFound(rw, r)
				return
			}
			panic(http.ErrAbortHandler) // no answer
		})
		w := newWorld(t, []string{"http://bakery.test/"}, site)
		s := w.run()
		var octets int64
		for _, r := range w.archive.records {
			octets += int64(len(r.response))
		}
		if s.Status.Bytes != octets || s.Status.Failed != 1 {
			t.Errorf("%d octets counted, %d in the archive; %d failed", s.Status.Bytes, octets, s.Status.Failed)
		}
		if n := int64(len(w.archive.records)); s.Status.Exchanges != n || w.count(budget.Answers) != n-3 {
			t.Errorf("%d exchanges, %d answers, %d records", s.Status.Exchanges, w.count(budget.Answers), n)
		}
	})
}

func TestASeedWhoseRedirectsGoInACircleIsReported(t *testing.T) {
	for name, pages := range map[string]map[string]crawltest.Page{
		"back to the seed":   {"/": {Redirect: "/a"}, "/a": {Redirect: "/b"}, "/b": {Redirect: "/"}},
		"to itself":          {"/": {Redirect: "/"}},
		"to nowhere":         {"/": {Redirect: "mailto:baker@bakery.test"}},
		"to an excluded URL": {"/": {Redirect: "/no"}, "/no": {}},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newWorld(t, []string{"http://bakery.test/"}, &crawltest.Site{Name: "bakery.test", Pages: pages})
			w.cfg.Scope.Exclude = []string{"/no$"}
			s := w.run()
			if !s.Incomplete || s.SeedsUnanswered != 1 || len(s.Seeds) != 1 || s.EndedBy != EndedDrained {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestASeedThatAnswersIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://bakery.test/", "http://bakery.test/b"}, &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
			"/": {Redirect: "/a"}, "/a": {Redirect: "/b"}, "/b": {Links: []string{"/c"}}, "/c": {Redirect: "/d"}, "/d": {Status: 404},
		}})
		if s := w.run(); s.Incomplete || s.SeedsUnanswered != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestARefusedURLHasOneLineHoweverItIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := crawltest.Page{Links: []string{"/no.png", "/b", "http://far.test/x.png"}, Embeds: []string{"/no.png", "http://far.test/x.png"}}
		w := newWorld(t, []string{"http://bakery.test/"}, &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{"/": page, "/b": page}})
		w.cfg.Scope.Exclude = []string{"/no"}
		s := w.run()
		w.wantOutcomes("http://bakery.test/no.png", "dropped: scope:exclude")
		w.wantOutcomes("http://far.test/x.png", "dropped: scope:host")
		if s.Status.Dropped != 1 {
			t.Errorf("%d dropped", s.Status.Dropped)
		}
	})
}

// faulty is a recorder that does something else for one URL, some times.
type faulty struct {
	storage.Recorder
	url   string
	times *atomic.Int64
	fault func()
}

func (f faulty) Record(ctx context.Context, r storage.Record) (storage.Receipt, error) {
	if r.URL == f.url && f.times.Add(-1) >= 0 {
		f.fault()
	}
	return f.Recorder.Record(ctx, r)
}

func newFaulty(r storage.Recorder, url string, times int64, fault func()) faulty {
	f := faulty{r, url, new(atomic.Int64), fault}
	f.times.Store(times)
	return f
}

// wantExtension checks that the scope's extension to a URL is durable, once.
func (w *world) wantExtension(url string) {
	w.t.Helper()
	seeds, err := frontier.SeedsOf(w.t.Context(), w.front)
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, s := range seeds {
		if s.From != "" && s.URL.String() == url {
			n++
		}
	}
	if n != 1 {
		w.t.Errorf("%s is %d times among the extensions of the scope: %+v", url, n, seeds)
	}
}

func shortened() []*crawltest.Site {
	return []*crawltest.Site{
		{Name: "short.test", Pages: map[string]crawltest.Page{"/": {Redirect: "http://library.test/"}}},
		crawltest.Tree("library.test", 4),
	}
}

func TestWhatATaskAddedBeforeAPanicIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://short.test/"}, shortened()...)
		w.cfg.Recorder = newFaulty(w.archive, "http://library.test/", 2, func() { panic("a defect") })
		s := w.run()
		w.wantOutcomes("http://library.test/", "deferred: panic", "deferred: panic", "fetched: unavailable")
		w.wantExtension("http://library.test/")
		if s.Status.Pages != 4 || s.Status.Exchanges != 2+1+2+4 || s.Incomplete {
			t.Errorf("%d pages, %d exchanges; want 4 and 9: the page that was read thrice counts once. %+v", s.Status.Pages, s.Status.Exchanges, s)
		}
	})
}

// torn is a ledger with a fault, once, behind a line on a URL.
type torn struct {
	*lines
	url   string
	whole *atomic.Bool
	fault func()
}

func (l torn) Append(ctx context.Context, line storage.Line) error {
	if err := l.lines.Append(ctx, line); err != nil {
		return err
	}
	if line.URL == l.url && l.whole.CompareAndSwap(false, true) {
		l.fault()
	}
	return nil
}

func TestAPageThatPanicsAtItsLastStepIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 5))
		w.cfg.Ledger = torn{w.ledger, "http://a.test/p2.html", new(atomic.Bool), func() { panic("a defect") }}
		w.cfg.MaxPages, w.cfg.MaxPerHost = 5, 5
		if s := w.run(); s.Status.Pages != 5 || s.Status.Fetched != 5 {
			t.Errorf("%+v", s.Status)
		}
	})
}

func TestAPanicOverARobotsTxtCostsThatHostOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/", "http://b.test/"}, crawltest.Tree("a.test", 3), crawltest.Tree("b.test", 3))
		w.cfg.Recorder = newFaulty(w.archive, "http://a.test/robots.txt", 9, func() { panic("a defect") })
		s := w.run()
		w.wantAsked("a.test", "/robots.txt")
		if s.Status.Fetched != 3 || s.Status.InFlight != 0 || len(s.Status.Resting) != 1 || s.Status.Resting[0].Reason != reasonPanic {
			t.Errorf("%+v", s.Status)
		}
	})
}

func TestAStaleTurnCountsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldLeased(t, 30*time.Second, []string{"http://short.test/"}, crawltest.New(shortened()...))
		w.cfg.MaxPages = 4
		// The disk stands still for longer than the lease lasts.
		w.cfg.Ledger = torn{w.ledger, "http://library.test/", new(atomic.Bool), func() { time.Sleep(40 * time.Second) }}
		s := w.run()
		w.wantExtension("http://library.test/")
		if s.Status.Pages != 4 || s.Status.Fetched != 4 || w.count(frontier.ReasonExpired) != 1 {
			t.Errorf("%d pages, %d fetched, %d leases expired: ended by %q", s.Status.Pages, s.Status.Fetched, w.count(frontier.ReasonExpired), s.EndedBy)
		}
		w.counts(s.Status, 8) // its exchange was made all the same
	})
}

func TestARobotsTxtThatOutlastsTheLeaseIsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("bakery.test", 4)
		site.Robots = crawltest.Robots{Body: "User-agent: *\n", Delay: 50 * time.Second}
		w := newWorldLeased(t, 30*time.Second, []string{"http://bakery.test/"}, crawltest.New(site))
		w.cfg.MaxWait = 30 * time.Second
		s := w.run()
		if s.EndedBy != EndedWaiting || s.Status.Fetched != 0 || len(s.Status.Resting) != 1 || !strings.Contains(s.Status.Resting[0].Reason, "timeout") {
			t.Errorf("%+v", s)
		}
	})
}

// slowOnce is a frontier that does not answer the first question about a host before the lease is nearly over.
type slowOnce struct {
	frontier.Frontier
	asked *atomic.Bool
}

func (f slowOnce) Host(ctx context.Context, a canon.Authority) (frontier.Host, bool, error) {
	if f.asked.CompareAndSwap(false, true) {
		<-ctx.Done()
		return frontier.Host{}, false, ctx.Err()
	}
	return f.Frontier.Host(ctx, a)
}

// Whatever a turn is at when the lease's time is over: it ends, and the crawl goes on.
func TestALeaseThatIsOverEndsTheTurnAndNotTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("bakery.test", 3)
		site.Robots = crawltest.Robots{Redirect: "http://mill.test/robots.txt"}
		mill := crawltest.Tree("mill.test", 1)
		mill.Robots = crawltest.Robots{Body: "User-agent: *\nDisallow:\n"}
		w := newWorldLeased(t, 30*time.Second, []string{"http://bakery.test/"}, crawltest.New(site, mill))
		w.cfg.Frontier = slowOnce{w.front, new(atomic.Bool)}
		s := w.run()
		if s.EndedBy != EndedDrained || s.Status.Fetched != 3 || !w.cfg.Frontier.(slowOnce).asked.Load() {
			t.Errorf("%+v", s)
		}
	})
}

// draining is a frontier that drains the crawl between a claim and what is made of it.
type draining struct {
	frontier.Frontier
	drain func()
}

func (f draining) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	c, err := f.Frontier.Claim(ctx, w)
	f.drain()
	return c, err
}

func TestRule17_ADrainAfterAClaimBeginsNoExchange(t *testing.T) {
	for name, asked := range map[string][]string{"of robots.txt": nil, "of a page": {"/robots.txt", "/"}} {
		bubble(t, name, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 3))
			if asked != nil {
				w.cfg.MaxPages = 1
				w.run()
				w.cfg.MaxPages = 0
			}
			var c *Crawl
			w.cfg.Frontier = draining{w.front, func() { c.Drain() }}
			c = w.crawl()
			if s := w.finish(c); s.Status.InFlight != 0 || s.Status.Queued != int64(max(len(asked), 1)) {
				t.Errorf("%+v", s.Status)
			}
			w.wantAsked("a.test", asked...)
		})
	}
}

func TestLinksBeyondTheLimitOfAPageAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var links []string
		for i := range 6010 {
			links = append(links, fmt.Sprintf("/%d", i))
		}
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {Links: links}}})
		w.cfg.MaxPages = 1
		if s := w.run(); s.Status.Links["too many"] != 10 || s.Status.Queued != 6000 {
			t.Errorf("%d queued, %v", s.Status.Queued, s.Status.Links)
		}
	})
}

func TestRule11_RetryAfterOnAnyRedirection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/":  {Links: []string{"/1", "/2", "/3"}},
			"/1": {Status: 302, RetryAfter: "120"}, // leads nowhere
			"/2": {Status: 304, RetryAfter: "60"},
			"/3": {Status: 500, RetryAfter: "7"},
		}})
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
	})
}

// idling counts how often the idle connection of a host is closed, and after what.
type idling struct {
	fetcher
	closed *[]string
}

func (f idling) CloseIdle(a canon.Authority) {
	*f.closed = append(*f.closed, a.Host())
	f.fetcher.CloseIdle(a)
}

func TestTheConnectionIsClosedWhenTheQueueHasRunDryAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 9))
		var closed []string
		w.cfg.Fetcher = idling{w.cfg.Fetcher, &closed}
		w.cfg.Workers = 1
		w.run()
		if !slices.Equal(closed, []string{"a.test"}) {
			t.Errorf("closed %q; want once, after the last page", closed)
		}
	})
}

func TestRedirectsKeepDepthAndRequisiteSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		depth := 1
		w := newWorld(t, []string{"http://a.test/"},
			&crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
				"/":      {Links: []string{"/1"}, Embeds: []string{"/i.png"}},
				"/1":     {Redirect: "/moved"},
				"/moved": {Links: []string{"/2"}, Embeds: []string{"http://img.test/far.png"}},
				"/2":     {},
				"/i.png": {Redirect: "http://img.test/i.png"},
			}},
			&crawltest.Site{Name: "img.test", Pages: map[string]crawltest.Page{"/i.png": {Type: "image/png", Body: "x"}, "/far.png": {Type: "image/png", Body: "y"}}})
		w.cfg.Scope = scope.Config{Depth: &depth, Requisites: scope.RequisitesAll}
		s := w.run()
		w.wantAsked("a.test", "/robots.txt", "/", "/i.png", "/1", "/moved")
		if got := w.asked("img.test"); len(got) != 3 {
			t.Errorf("img.test was asked for %q", got)
		}
		if s.Status.Links["scope:depth"] != 1 || s.Incomplete {
			t.Errorf("%+v", s)
		}
	})
}
