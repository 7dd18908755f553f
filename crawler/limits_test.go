package crawler

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/host"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage"
)

func TestHTTPThatTheStoryReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", 3000)
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{
			"/":         {Links: []string{"/long", "/declared", "/image", "/missing", "/chain0", "/twice", "/far"}},
			"/image":    {Type: "image/png", Body: "png"},
			"/missing":  {Status: 404, Type: "image/png", Body: "not found"},
			"/declared": {Type: "text/html", Body: long},
			"/far":      {Redirect: "http://10.1.2.3/"},
		}}
		for i := range 12 {
			site.Pages["/chain"+string(rune('0'+i))] = crawltest.Page{Redirect: "/chain" + string(rune('0'+i+1))}
		}
		site.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.RequestURI == "/long" {
				rw.Header().Set("Content-Type", "text/html")
				rw.(http.Flusher).Flush() // no length declared
				rw.Write([]byte(long))
				return
			}
			http.NotFound(rw, r)
		})
		w := newWorld(t, []string{"http://a.test/", "http://10.1.2.3/"}, site)
		w.cfg.MaxBody, w.cfg.Scope.Reject = 2000, []string{"image/*"}
		s := w.run()
		w.wantOutcomes("http://a.test/long", "fetched: truncated: length")
		w.wantOutcomes("http://a.test/declared", "dropped: too large")
		w.wantOutcomes("http://a.test/image", "dropped: scope:reject")
		w.wantOutcomes("http://a.test/missing", "gone: status 404")
		w.wantOutcomes("http://a.test/chain9", "redirected: to http://a.test/chain:")
		w.wantOutcomes("http://a.test/chain:", "dropped: trap:redirect-chain")
		if w.count(budget.Truncated) != 1 {
			t.Errorf("%d truncated", w.count(budget.Truncated))
		}
		for _, r := range w.archive.records {
			if (r.Truncated != "") != (strings.HasSuffix(r.URL, "/long") || strings.HasSuffix(r.URL, "/declared") || strings.HasSuffix(r.URL, "/image")) {
				t.Errorf("%s: truncated %q", r.URL, r.Truncated)
			}
		}
		if !slices.ContainsFunc(s.Status.Resting, func(r status.Resting) bool {
			return r.Condition == "retired" && strings.Contains(r.Reason, "private address (see --allow-net)")
		}) {
			t.Errorf("%+v", s.Status.Resting)
		}
	})
}

func TestASeedIsFetchedWhateverItsType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/x"}, &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/x": {Type: "image/png", Body: "png"}}})
		w.cfg.Scope.Reject = []string{"image/*"}
		w.run()
		w.wantOutcomes("http://a.test/x", "fetched: unavailable")
	})
}

func TestRule09_TheResponseTimeTerm(t *testing.T) {
	n := host.State{}
	n.Hear(20 * time.Second)
	if p := (host.Terms{Floor: Floor}).Pace(&n, 0); p != (host.Pace{Pause: 30 * time.Second, By: storage.ByResponseTime}) {
		t.Errorf("%+v: at most 30 s", p)
	}
	if p := (host.Terms{Floor: Floor, Own: true}).Pace(&n, 0); p != (host.Pace{Pause: Floor, By: storage.ByFloor}) {
		t.Errorf("%+v: own hosts are not spared", p)
	}
}

// The pace counts from the end of the exchange, however long it takes to keep what it brought.
func TestRule09_OurOwnDiskDoesNotSlowTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 2))
		w.cfg.Recorder = newFaulty(w.archive, "http://a.test/", 1, func() { time.Sleep(Floor * 3 / 4) })
		start := time.Now()
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		if took := time.Since(start); took != 2*Floor {
			t.Errorf("took %v", took)
		}
	})
}

func TestRule13_OnlyThe403OfTheFirstPageEndsTheHost(t *testing.T) {
	for name, pages := range map[string]map[string]crawltest.Page{
		"401":             {"/": {Status: 401}, "/x": {}},
		"not the first":   {"/": {Links: []string{"/y"}}, "/y": {Status: 403}, "/x": {}},
		"404 for robots":  {"/": {Status: 403}, "/x": {}},
		"and 403 for all": {"/": {Status: 403}, "/x": {}},
	} {
		bubble(t, name, func(t *testing.T) {
			site := &crawltest.Site{Name: "a.test", Pages: pages}
			if name != "404 for robots" {
				site.Robots.Status = 403
			}
			w := newWorld(t, []string{"http://a.test/", "http://a.test/x"}, site)
			s := w.run()
			want := int64(0)
			if name == "and 403 for all" {
				want = 1
			}
			if s.Status.Refused != want || s.Status.Resting != nil != (want > 0) {
				t.Errorf("%d refused: %+v", s.Status.Refused, s.Status.Resting)
			}
		})
	}
}

// RFC 9309 2.3.1.3: robots.txt answered with 401 or 403 is no refusal of the host.
func TestARefusedRobotsTxtDoesNotCountAsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{"/": {}}}
		site.Robots.Status = 401
		var cs []frontier.Candidate
		for _, p := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
			site.Pages["/"+p] = crawltest.Page{Status: 401}
			u := parse(t, "http://a.test/"+p)
			cs = append(cs, frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String()})
		}
		cs = append(cs, frontier.Candidate{URL: parse(t, "http://a.test/"), Kind: frontier.KindSeed, Seed: "http://a.test/"})
		w := newWorld(t, nil, site)
		w.add(cs...)
		if s := w.run(); s.Status.Fetched != 1 || s.Status.Failed != 9 || s.Status.Refused != 0 {
			t.Errorf("%+v", s.Status)
		}
	})
}
