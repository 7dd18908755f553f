package crawldir

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/frontier/engine"
	"curtsy/storage"
)

func crawled(t *testing.T, site *crawltest.Site) (dir string) {
	t.Helper()
	s := Defaults()
	s.Delay = 0
	dir = created(t, &s, served(t, site).LoopbackURL(site.Name))
	require.Equal(t, crawler.EndedDrained, ran(t, dir, Options{}).EndedBy)
	return dir
}

func created(t *testing.T, s *Settings, urls ...string) (dir string) {
	t.Helper()
	dir = in(t.TempDir(), "d")
	seeds, err := SeedURLs(urls...)
	if err == nil {
		err = Create(t.Context(), dir, s, seeds)
	}
	require.NoError(t, err)
	return dir
}

func ran(t *testing.T, dir string, o Options) Result {
	t.Helper()
	r, err := Run(t.Context(), dir, o)
	require.NoError(t, err)
	return r
}

func served(t *testing.T, sites ...*crawltest.Site) *crawltest.Web {
	t.Helper()
	web := crawltest.New(sites...)
	require.NoError(t, web.Start())
	t.Cleanup(func() { web.Close() })
	return web
}

// piped serves sites in memory for a crawl in virtual time.
func piped(t *testing.T, sites ...*crawltest.Site) (web *crawltest.Web, s Settings, o Options) {
	t.Helper()
	web, s = crawltest.New(sites...), Defaults()
	web.StartPipe()
	t.Cleanup(func() { web.Close() })
	s.Contact, s.AllowNet = "crawl@library.org", []string{web.Net().String()}
	return web, s, Options{Unheard: true, Resolve: web.Resolve, Dial: web.Dial}
}

func generationOf(t *testing.T, dir string) int64 {
	t.Helper()
	f, err := engine.OpenReadOnly(dir)
	require.NoError(t, err)
	defer f.Close()
	st, err := f.Stats(t.Context())
	assert.Truef(t, err == nil && st.Queued+st.InFlight+st.Deferred <= 0, "%+v %v: it is not finished", st, err)
	return budget.GenerationOf(st.Counts).Number
}

func TestRule21_FailedUpdateLeavesNoFiles(t *testing.T) {
	dir := crawled(t, crawltest.Tree("bakery.test", 3))
	full := errors.New("no space left")
	_, err := begin(t.Context(), dir, nil, nil, func() error { return full })
	require.ErrorIs(t, err, full)
	left, err := filepath.Glob(in(dir, "frontier*"))
	assert.Truef(t, err == nil && len(left) == 1, "%v %v", left, err)
	assert.EqualValues(t, 1, generationOf(t, dir), "generation")
	s, err := ReadSettings(dir)
	require.NoError(t, err)
	require.NoError(t, one(Update(t.Context(), dir, nil, &s)))
	ran(t, dir, Options{})
	assert.EqualValues(t, 2, generationOf(t, dir), "generation")
}

// The next run compares instead.
func TestRule21_AnInterruptedUpdateDoesNotCompare(t *testing.T) {
	site := crawltest.Tree("bakery.test", 1)
	site.Latency = 1500 * time.Millisecond
	dir := crawled(t, site)
	s, err := ReadSettings(dir)
	if err == nil {
		s.MaxTime = time.Second // in which the first request begins
		_, err = Update(t.Context(), dir, nil, &s)
	}
	require.NoError(t, err)
	var drain func()
	r, err := Run(t.Context(), dir, Options{
		Line: func(storage.Line) { drain() },
		Attend: func(ctx context.Context, start Start) (crawler.Summary, error) {
			drain = start.Crawl.Drain
			return start.Crawl.Run(ctx)
		},
	})
	assert.Truef(t, err == nil && r.EndedBy == crawler.EndedMaxTime && r.Changes == nil, "ended by %q, changes %v, %v", r.EndedBy, r.Changes, err)
	r, err = Run(t.Context(), dir, Options{})
	assert.Truef(t, err == nil && r.Changes != nil, "%+v %v", r, err)
}
