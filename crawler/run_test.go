package crawler

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
)

func TestMaxBytesAndMaxTimeEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 50))
		w.cfg.MaxBytes = 8000
		if s := w.run(); s.EndedBy != EndedMaxBytes || s.Status.Bytes < 8000 || s.Status.Pages > 10 {
			t.Errorf("ended by %q after %d octets and %d pages", s.EndedBy, s.Status.Bytes, s.Status.Pages)
		}
		w.cfg.MaxBytes, w.cfg.MaxTime = 0, 10*time.Second
		start := time.Now()
		if s := w.run(); s.EndedBy != EndedMaxTime || time.Since(start) > 12*time.Second {
			t.Errorf("ended by %q after %v", s.EndedBy, time.Since(start))
		}
	})
}

// panicsAt has the fetcher panic after exchanges for a target.
func (w *world) panicsAt(target string) {
	w.onExchange(func(r fetch.Request, _ *fetch.Exchange) {
		if r.URL.RequestURI() == target {
			panic("a parser's defect")
		}
	})
}

func TestStories_HTTP(t *testing.T) {
	long := strings.Repeat("x", 3000)
	site := &crawltest.Site{Name: "a.test", Pages: pages{
		"/":      {Links: []string{"/long", "/declared", "/image", "/missing", "/chain0", "/twice", "/far"}},
		"/image": picture, "/missing": {Status: 404, Type: "image/png", Body: "not found"}, "/declared": {Type: "text/html", Body: long},
		"/far": {Redirect: "http://10.1.2.3/"},
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
	playAll(t, []scenario{{
		name: "limits of bodies, types and redirects", seeds: "http://a.test/ http://10.1.2.3/", sites: []*crawltest.Site{site},
		set: func(w *world) { w.cfg.MaxBody, w.cfg.Scope.Reject = 2000, []string{"image/*"} },
		outcomes: map[string]string{
			"a.test/long": "fetched: truncated: length", "a.test/declared": "dropped: too large", "a.test/image": "dropped: scope:reject",
			"a.test/missing": "gone: status 404", "a.test/chain9": "redirected: to http://a.test/chain:", "a.test/chain:": "dropped: trap:redirect-chain",
		},
		ended: EndedWaiting, incomplete: true,
		check: func(t *testing.T, w *world, s Summary) {
			cut := map[string]bool{"http://a.test/long": true, "http://a.test/declared": true, "http://a.test/image": true}
			for _, r := range w.archive.records {
				assert.Equalf(t, cut[r.URL], (r.Truncated != ""), "%s: truncated %q", r.URL, r.Truncated)
			}
			restsWith("private address (see --allow-net)")(t, w, s)
			if s.Status.Retired != 1 || w.count(budget.Truncated) != 1 {
				t.Errorf("%d retired, %d truncated", s.Status.Retired, w.count(budget.Truncated))
			}
		},
	}})
}

// The delay counts from the end of the exchange, however long its record takes.
func TestRule09_OurOwnDiskDoesNotSlowTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 2))
		w.archive.onRecord("http://a.test/", 1, func() { time.Sleep(Floor * 3 / 4) })
		start := time.Now()
		w.run()
		w.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
		assert.Equal(t, 2*Floor, time.Since(start), "the time it took")
	})
}

func TestNotPublic(t *testing.T) {
	for url, want := range map[string]bool{
		"http://localhost/": true, "http://127.0.0.1:8080/": true, "http://10.0.0.1/": true, "http://[fe80::1]/": true,
		"http://93.184.215.14/": false, "http://example.org/": false,
	} {
		assert.Equal(t, want, NotPublic(parse(t, url).Authority()), url)
	}
}
