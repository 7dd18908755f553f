package check_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/check"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/cdxj"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

// checked crawls a site and judges it.
func checked(t *testing.T, site http.Handler) (r *check.Result, base string) {
	t.Helper()
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	dir := filepath.Join(t.TempDir(), "crawl")
	crawled(t, dir, server.URL+"/")
	return judged(t, dir), server.URL
}

func settings() *crawldir.Settings {
	s := crawldir.Defaults()
	s.Delay = 0
	return &s
}

func crawled(t *testing.T, dir, seed string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	seeds, err := crawldir.SeedURLs(seed)
	if err == nil {
		err = crawldir.Create(t.Context(), dir, settings(), seeds)
	}
	if err == nil {
		_, err = crawldir.Run(t.Context(), dir, crawldir.Options{})
	}
	require.NoError(t, err)
}

func judged(t *testing.T, dir string) *check.Result {
	t.Helper()
	r, err := check.Judge(t.Context(), t.TempDir(), dir, 0)
	require.NoError(t, err)
	return r
}

type pages map[string]string

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, ok := p[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, page)
}

func TestAllPlantedFaultsAreFoundAndNoneInvented(t *testing.T) {
	site := crawltest.NewFaultySite()
	r, base := checked(t, site)
	type at struct {
		what, url, page string
		line            int
	}
	want, got := map[at]bool{}, map[at]bool{}
	kinds := map[crawltest.FaultKind]int{}
	for _, f := range site.Faults() {
		kinds[f.Kind]++
		a := at{"broken", base + f.URL, base + f.Page, f.Line}
		switch f.Kind {
		case crawltest.Moved, crawltest.Chain:
			a.what = "redirect"
		case crawltest.TwoIDs:
			a.what = "id " + f.Name
		case crawltest.NoURL:
			a.url = f.URL
		}
		want[a] = true
	}
	require.Truef(t, len(want) == 93 && len(kinds) == 31, "%d faults of %d kinds are planted", len(want), len(kinds))
	take := func(what string, f check.Finding) {
		for _, p := range f.On {
			got[at{what, f.URL, p.Page, p.Line}] = true
		}
	}
	for _, f := range r.Broken {
		take("broken", f)
	}
	for _, f := range r.Redirects {
		take("redirect", f.Finding)
	}
	for _, f := range r.Duplicates {
		take(f.Reason, f)
	}
	for a := range want {
		assert.Truef(t, got[a], "not found: %+v", a)
	}
	for a := range got {
		assert.Truef(t, want[a], "invented: %+v", a)
	}
	assert.Truef(t, len(r.Untested) == 1 && r.Untested[0].URL == base+"/private/secret.html" && r.Untested[0].Reason == "robots.txt forbids it", "not tested: %+v", r.Untested)
	assert.Truef(t, len(r.Insecure)+len(r.Mixed) == 0 && r.External == 1 && r.Unread == 0, "%+v", r)
}

func TestAMillionLinksToOneBrokenURLAreCountedAndBounded(t *testing.T) {
	many := 1_000_000
	if testing.Short() {
		many = 100_000
	}
	r, base := checked(t, pages{"/": strings.Repeat("<a href=x>", many)})
	if len(r.Broken) != 1 || r.Broken[0].URL != base+"/x" || r.Broken[0].Count != int64(many) || r.Mentions != int64(many) {
		t.Fatalf("%d findings, %d mentions", len(r.Broken), r.Mentions)
	}
	n := len(r.Broken[0].On)
	assert.Truef(t, n != 0 && n <= 100, "%d places of one page", n)
}

func TestFindings_AboutUnrequestedURLsAreBounded(t *testing.T) {
	var b strings.Builder
	for n := range 30_000 {
		fmt.Fprintf(&b, "<a href='http://[%d'>", n)
	}
	r, _ := checked(t, pages{"/": b.String()})
	assert.Truef(t, len(r.Broken) == 10_000 && r.Left == 20_000, "%d findings, %d left out", len(r.Broken), r.Left)
}

func TestAnchors_OfAPageAreBounded(t *testing.T) {
	for ids, unread := range map[int]int64{1 << 16: 0, 1<<16 + 1: 1} {
		var b strings.Builder
		for n := range ids {
			fmt.Fprintf(&b, "<p id=%x>", n)
		}
		r, _ := checked(t, pages{"/": "<a href=many#last><a href=#10000>", "/many": b.String()})
		missing := int64(len(r.Broken))
		assert.Truef(t, missing == 2-unread && r.Unread == unread, "%d ids: %d fragments missing, %d documents unread; want %d, %d", ids, missing, r.Unread, 2-unread, unread)
	}
}

// Even damage that only the checksum shows counts.
func TestUnread_CountsDamagedRecords(t *testing.T) {
	server := httptest.NewServer(pages{"/": "<p>one"})
	t.Cleanup(server.Close)
	dir := filepath.Join(t.TempDir(), "crawl")
	crawled(t, dir, server.URL+"/")
	index, err := os.ReadFile(filepath.Join(dir, "index", "curtsy-00000.cdxj"))
	require.NoError(t, err)
	path := filepath.Join(dir, "warc", "curtsy-00000.warc.gz")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(index)) {
		l, err := cdxj.ParseLine([]byte(line))
		require.NoError(t, err)
		if l.URL == server.URL+"/" {
			b[l.Offset+l.Length-8] ^= 1
		}
	}
	r := judged(t, dir)
	assert.Truef(t, r.Unread == 0 && r.Documents == 1, "before: %d unread, %d read", r.Unread, r.Documents)
	require.NoError(t, os.WriteFile(path, b, 0o600))
	r = judged(t, dir)
	assert.Truef(t, r.Unread == 1 && r.Documents == 0, "%d unread, %d read", r.Unread, r.Documents)
}

func TestUnreachedURLs_AreNotBroken(t *testing.T) {
	server := httptest.NewServer(pages{"/": "<a href=a><a href=b><img src=c.png>", "/a": "a"})
	defer server.Close()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, c := range []struct {
		reason string
		set    func(*crawldir.Settings)
	}{
		{"budget: max-pages", func(s *crawldir.Settings) { s.MaxPages = 1 }},
		{"budget: max-per-host", func(s *crawldir.Settings) { s.MaxPerHost = 1 }},
		{"budget: max-urls", func(s *crawldir.Settings) { s.MaxURLs = 1 }},
		{"scope:requisites", func(s *crawldir.Settings) { s.Requisites = "none" }},
	} {
		dir := filepath.Join(t.TempDir(), "crawl")
		seeds, err := crawldir.SeedURLs(server.URL + "/")
		s := settings()
		c.set(s)
		if err == nil {
			err = crawldir.Create(t.Context(), dir, s, seeds)
		}
		if err == nil {
			_, err = crawldir.Run(t.Context(), dir, crawldir.Options{})
		}
		require.NoError(t, err)
		r := judged(t, dir)
		assert.NotEmptyf(t, r.Untested, "%s: %+v", c.reason, r)
		for _, f := range r.Untested {
			assert.Equal(t, c.reason, f.Reason, f)
		}
	}
}

func TestOnlyTheLatestGenerationCounts(t *testing.T) {
	var repaired atomic.Bool
	before := pages{"/": "<a href=gone><a href=stays><a href=page>", "/page": "<a href=lost>"}
	after := pages{"/": "<a href=gone><a href=stays><a href=new>", "/gone": "here again", "/page": "<a href=lost>"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if repaired.Load() {
			after.ServeHTTP(w, r)
		} else {
			before.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "crawl")
	crawled(t, dir, server.URL+"/")
	assert.Equal(t, []string{"/gone", "/lost", "/stays"}, broken(judged(t, dir), server.URL), "at first")
	repaired.Store(true)
	was, err := crawldir.ReadSettings(dir)
	if err == nil {
		_, err = crawldir.Update(t.Context(), dir, &was, settings())
	}
	if err == nil {
		_, err = crawldir.Run(t.Context(), dir, crawldir.Options{})
	}
	require.NoError(t, err)
	assert.Equal(t, []string{"/new", "/stays"}, broken(judged(t, dir), server.URL), "afterwards")
}

func broken(r *check.Result, base string) []string {
	paths := map[string]bool{}
	for _, f := range r.Broken {
		paths[strings.TrimPrefix(f.URL, base)] = true
	}
	return slices.Sorted(maps.Keys(paths))
}

func TestSymlinkedFiles_AreNotTested(t *testing.T) {
	gone := func(url string, status int) check.Finding {
		return check.Finding{URL: url, Status: status, Reason: "status", Count: 1}
	}
	r := check.Result{Broken: []check.Finding{gone("/out.js", 404), gone("/gone.js", 404), gone("/out.js?failing", 500), gone("http://[", 0)}}
	r.LeadOut(func(path string) bool { return path == "/out.js" })
	if len(r.Broken) != 3 || len(r.Untested) != 1 || r.Untested[0].URL != "/out.js" || r.Untested[0].Reason != check.Outside || r.Untested[0].Status != 0 {
		t.Errorf("broken %+v, not tested %+v", r.Broken, r.Untested)
	}
}
