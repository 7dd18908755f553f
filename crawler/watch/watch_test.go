package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/freshness"
	"curtsy/crawler/status"
	"curtsy/storage/scratch"
	"curtsy/storage/warc"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

const day = 24 * time.Hour

// living is a crawl of a site that changes with the clock.
type living struct {
	t       *testing.T
	web     *crawltest.Web
	dir     string
	s       crawldir.Settings
	options Options
}

// changing is a page: its text at a time, and its header fields.
type changing struct {
	text   func(at time.Time) string
	fields http.Header
}

func every(d time.Duration) func(time.Time) string {
	return func(at time.Time) string { return fmt.Sprint("since ", at.Truncate(d)) }
}

func always(text string) func(time.Time) string { return func(time.Time) string { return text } }

// crawled crawls such pages once in virtual time.
func crawled(t *testing.T, pages map[string]changing, set func(*crawldir.Settings)) *living {
	t.Helper()
	site := &crawltest.Site{Name: "a.test", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := ""
		if p, ok := pages[r.URL.Path]; ok {
			maps.Copy(w.Header(), p.fields)
			text = p.text(time.Now())
		}
		if text == "" {
			http.NotFound(w, r)
			return
		}
		types := map[string]string{".xml": "application/xml", ".txt": "text/plain"}
		w.Header().Set("Content-Type", cmp.Or(types[path.Ext(r.URL.Path)], "text/html"))
		tag := fmt.Sprintf(`"%x"`, text)
		if len(tag) > 200 {
			tag = tag[:100] + tag[len(tag)-100:]
		}
		w.Header().Set("Etag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(text))
	})}
	l := &living{t: t, web: crawltest.New(site), dir: filepath.Join(t.TempDir(), "d"), s: crawldir.Defaults()}
	l.web.StartPipe()
	t.Cleanup(func() { l.web.Close() })
	l.s.Contact, l.s.AllowNet = "https://operator.org/", []string{l.web.Net().String()}
	l.s.PerHostPerDay, l.s.MemoryLimit = 100, 0
	if set != nil {
		set(&l.s)
	}
	seeds, err := crawldir.SeedURLs("http://a.test/")
	if err == nil {
		err = crawldir.Create(t.Context(), l.dir, &l.s, seeds)
	}
	require.NoError(t, err)
	l.run()
	return l
}

func (l *living) run() {
	l.t.Helper()
	_, err := crawldir.Run(l.t.Context(), l.dir, crawldir.Options{
		Settings: &l.s, Resolve: l.web.Resolve, Dial: l.web.Dial, Unheard: true,
	})
	require.NoError(l.t, err)
}

// watch watches for some time, and returns the number of rounds.
func (l *living) watch(lasts time.Duration) (rounds int) {
	l.t.Helper()
	w := Watch{Dir: l.dir, Settings: &l.s, Options: l.options, End: time.Now().Add(lasts)}
	for {
		more, err := w.Next(l.t.Context())
		require.NoError(l.t, err)
		if !more {
			return rounds
		}
		l.run()
		rounds++
	}
}

// visits returns when each path was requested.
func (l *living) visits() map[string][]time.Time {
	of := map[string][]time.Time{}
	for _, r := range l.web.Referee().Requests() {
		of[r.Target] = append(of[r.Target], r.Start)
	}
	return of
}

// withinBudget checks the requests in any 24 hours, and the delays between them.
func (l *living) withinBudget() {
	l.t.Helper()
	all := l.web.Referee().Requests()
	for i := range all {
		if i > 0 && all[i].Start.Sub(all[i-1].Start) < time.Second {
			l.t.Errorf("%v after %s: %s", all[i].Start.Sub(all[i-1].Start), all[i-1].Target, all[i].Target)
		}
		if n := int(l.s.PerHostPerDay); i >= n && all[i].Start.Sub(all[i-n].Start) < day {
			l.t.Errorf("%d requests within %v", n+1, all[i].Start.Sub(all[i-n].Start))
		}
	}
}

// records counts the archived records by path and type, and the bytes of the archive.
func (l *living) records() (of map[string]map[string]int, size int64) {
	l.t.Helper()
	files, err := filepath.Glob(filepath.Join(l.dir, crawldir.ArchiveName, "*.warc.gz"))
	require.NoError(l.t, err)
	of = map[string]map[string]int{}
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(l.t, err)
		fi, err := f.Stat()
		require.NoError(l.t, err)
		size += fi.Size()
		for r := warc.NewReader(f); ; {
			rec, err := r.Next()
			if err != nil {
				break
			}
			path := strings.TrimPrefix(rec.TargetURI(), "http://a.test")
			if of[path] == nil {
				of[path] = map[string]int{}
			}
			of[path][rec.Type]++
		}
		f.Close()
	}
	return of, size
}

func TestWatch_VisitsFollowTheChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("it crawls for days, for long under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		born := time.Now().Add(5 * day)
		front := func(at time.Time) string {
			text := `<a href=/daily>d</a><a href=/never>n</a><a href=/held>h</a><a href=/forever>f</a><a href=/short>s</a>`
			if at.After(born) {
				text += `<a href=/born>b</a>`
			}
			return text
		}
		pages := map[string]changing{
			"/": {front, nil}, "/daily": {every(day), nil}, "/never": {always("never"), nil}, "/born": {always("born"), nil},
			"/held":    {every(day), http.Header{"Cache-Control": {"max-age=259200"}}},
			"/forever": {every(day), http.Header{"Expires": {"Fri, 31 Dec 9999 23:59:59 GMT"}, "Date": {"Sat, 01 Jan 2000 00:00:00 GMT"}}},
			"/short":   {always("short"), http.Header{"Cache-Control": {"max-age=1"}, "Last-Modified": {"Fri, 31 Dec 9999 23:59:59 GMT"}}},
		}
		l := crawled(t, pages, nil)
		l.options = Options{Policy: freshness.Policy{Min: 2 * time.Hour, Max: 8 * day}, Gather: 3 * time.Hour}
		rounds := l.watch(17 * day)
		l.withinBudget()
		of := l.visits()
		n := func(path string) int { return len(of[path]) }
		daily, never, held, forever := n("/daily"), n("/never"), n("/held"), n("/forever")
		assert.Truef(t, daily >= 2*never && never >= 3 && daily >= 10, "%d visits of the page that changes daily, %d of the one that never does", daily, never)
		assert.Truef(t, n("/born") > 0 && of["/born"][0].Sub(born) <= 8*day, "the new page was found %v", of["/born"])
		for i := 1; i < held; i++ {
			if gap := of["/held"][i].Sub(of["/held"][i-1]); gap < 3*day-time.Microsecond { // ledgers have microseconds
				t.Errorf("a page that holds for three days was requested after %v", gap)
			}
		}
		assert.Truef(t, held >= 4 && forever >= 2, "%d and %d visits of pages with a freshness lifetime", held, forever)
		for path, at := range of {
			for i := 1; i < len(at); i++ {
				gap := at[i].Sub(at[i-1])
				assert.Truef(t, path == "/robots.txt" || gap >= 2*time.Hour && gap <= 8*day+6*time.Hour, "%s: %v from one visit to the next", path, gap)
			}
		}
		records, _ := l.records()
		assert.Equal(t, 1, records["/never"]["response"])
		assert.Equal(t, never-1, records["/never"]["revisit"])
		assert.Truef(t, rounds >= 10 && len(l.web.Referee().Requests()) <= 17*100, "%d rounds", rounds)
		t.Logf("%d rounds, %d requests; daily %d, never %d, held %d, forever %d visits", rounds, len(l.web.Referee().Requests()), daily, never, held, forever)
	})
}

func TestWatch_TheArchiveGrowsByWhatChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("it crawls for days, for long under the race detector")
	}
	grown := func(size int) (perVisit int64) {
		synctest.Test(t, func(t *testing.T) {
			text := strings.Builder{}
			for i := range size / 16 {
				fmt.Fprintf(&text, "%016x", uint64(i)*0x9e3779b97f4a7c15)
			}
			l := crawled(t, map[string]changing{"/": {always(text.String()), nil}}, nil)
			l.options = Options{Policy: freshness.Policy{Min: 2 * time.Hour, Max: 6 * time.Hour}, Gather: time.Hour}
			_, before := l.records()
			was := len(l.web.Referee().Requests())
			rounds := l.watch(2 * day)
			_, after := l.records()
			requests := len(l.web.Referee().Requests()) - was
			require.Truef(t, rounds >= 6 && requests >= 6, "%d rounds, %d requests", rounds, requests)
			perVisit = (after - before) / int64(requests)
		})
		return perVisit
	}
	small, large := grown(1<<10), grown(1<<18)
	t.Logf("%d bytes a visit of a page of 1 KiB, %d of one of 256 KiB", small, large)
	assert.Truef(t, large <= small+300 && large <= 8<<10, "a visit of an unchanged page of 1 KiB added %d bytes, of one of 256 KiB %d", small, large)
}

func TestWatch_TheBudgetIsNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]changing{}
		front := ""
		for i := range 12 {
			path := fmt.Sprintf("/p%d", i)
			front += "<a href=" + path + ">x</a>"
			pages[path] = changing{every(time.Hour), nil}
		}
		pages["/"] = changing{always(front), nil}
		l := crawled(t, pages, func(s *crawldir.Settings) { s.PerHostPerDay = 5 })
		l.options = Options{Policy: freshness.Policy{Min: time.Hour, Max: 2 * day}, Gather: 2 * time.Hour}
		l.watch(12 * day)
		l.withinBudget()
		of := l.visits()
		for path := range pages {
			assert.NotEmptyf(t, of[path], "%s was never requested", path)
		}
		n := len(l.web.Referee().Requests())
		assert.Truef(t, n >= 12*4 && n <= 12*5+5, "%d requests in 12 days, 5 a day", n)
	})
}

// The sitemap has lastmods in the future or always new, and changefreq always.
func TestWatch_HostileSitemapsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]changing{
			"/robots.txt": {always("Sitemap: http://a.test/map.xml\n"), nil},
			"/":           {always("front"), nil},
			"/map.xml": {func(at time.Time) string {
				text := "<urlset>"
				for i := range 14 {
					mod := at.Format(time.RFC3339)
					if i%2 == 0 {
						mod = "9999-12-31"
					}
					text += fmt.Sprintf("<url><loc>http://a.test/m%d</loc><lastmod>%s</lastmod><changefreq>always</changefreq></url>", i, mod)
				}
				return text + "</urlset>"
			}, nil},
		}
		for i := range 14 {
			pages[fmt.Sprintf("/m%d", i)] = changing{always("the same"), nil}
		}
		l := crawled(t, pages, func(s *crawldir.Settings) { s.Sitemaps, s.PerHostPerDay = []string{"robots"}, 60 })
		l.options = Options{Policy: freshness.Policy{Min: 6 * time.Hour, Max: 10 * day}, Gather: 6 * time.Hour}
		l.watch(10 * day)
		l.withinBudget()
		visits := l.visits()
		for path, at := range visits {
			for i := 1; i < len(at); i++ {
				gap := at[i].Sub(at[i-1])
				assert.Truef(t, path == "/robots.txt" || gap >= 6*time.Hour, "%s: %v from one visit to the next", path, gap)
			}
		}
		late, early := 0, 0
		for i := range 14 {
			for _, at := range visits[fmt.Sprintf("/m%d", i)] {
				if since := at.Sub(visits["/"][0]); since > 5*day {
					late++
				} else {
					early++
				}
			}
		}
		t.Logf("%d visits in 5 days, %d in the 5 after", early, late)
		assert.Truef(t, late < early && late != 0, "%d visits in 5 days, %d in the 5 after, of pages that never change", early, late)
	})
}

func TestWatch_SleepNamesTheNextRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := crawled(t, map[string]changing{"/": {always("front"), nil}}, nil)
		for _, lasts := range []time.Duration{time.Minute, 30 * day} {
			w := Watch{Dir: l.dir, Settings: &l.s, End: time.Now().Add(lasts)}
			var last status.Watch
			w.Sleep = func(is status.Watch) { last = is }
			more, err := w.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, (lasts > day), more, lasts)
			switch now := time.Now(); {
			case more && (!last.Ends.IsZero() || last.Next.After(now) || now.Sub(last.Next) > time.Second || last.Why != "min-interval"):
				t.Errorf("a round began at %v: %+v", now, last)
			case !more && (!last.Next.IsZero() || !last.Ends.Equal(w.End)):
				t.Errorf("the watch ended at %v: %+v", w.End, last)
			}
		}
	})
}

func TestWatch_SleepEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := crawled(t, map[string]changing{"/": {always("front"), nil}}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Minute, cancel)
		w := Watch{Dir: l.dir, Settings: &l.s}
		more, err := w.Next(ctx)
		assert.Truef(t, !more && errors.Is(err, context.Canceled) && time.Since(began) == time.Minute, "%v %v after %v", more, err, time.Since(began))
		w.Once = true
		more, err = w.Next(t.Context())
		assert.Truef(t, !more && err == nil, "%v %v: nothing was due", more, err)
	})
}
