package crawldir

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/frontier/engine"
	"curtsy/storage"
)

// crawled is the directory of an ended crawl of a site.
func crawled(t *testing.T, site *crawltest.Site) (dir string) {
	t.Helper()
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir = in(t.TempDir(), "d")
	s := Defaults()
	s.Delay = 0
	seeds, err := SeedURLs(web.LoopbackURL(site.Name))
	if err == nil {
		err = Create(t.Context(), dir, &s, seeds)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Run(t.Context(), dir, Options{}); err != nil || r.EndedBy != crawler.EndedDrained {
		t.Fatalf("%+v %v", r, err)
	}
	return dir
}

// generationOf is the generation that a stopped crawl is in.
func generationOf(t *testing.T, dir string) int64 {
	t.Helper()
	f, err := engine.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stats(t.Context())
	if err != nil || st.Queued+st.InFlight+st.Deferred > 0 {
		t.Errorf("%+v %v: it is not finished", st, err)
	}
	return budget.GenerationOf(st.Counts).Number
}

// An update that cannot begin leaves the crawl as it was, and nothing beside it: here the settings cannot be written.
func TestRule21_AnUpdateThatCannotBeginLeavesNothing(t *testing.T) {
	dir := crawled(t, crawltest.Tree("bakery.test", 3))
	full := errors.New("no space left")
	if _, err := begin(t.Context(), dir, nil, func() error { return full }); !errors.Is(err, full) {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(in(dir, "frontier*")); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
	if n := generationOf(t, dir); n != 1 {
		t.Errorf("generation %d", n)
	}
	s, err := ReadSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Update(t.Context(), dir, nil, &s); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), dir, Options{}); err != nil {
		t.Error(err)
	}
	if n := generationOf(t, dir); n != 2 {
		t.Errorf("generation %d", n)
	}
}

// Whoever interrupts an update does not wait for what changed, also when its time was over already; the next run says it.
func TestRule21_AnInterruptedUpdateDoesNotCompare(t *testing.T) {
	site := crawltest.Tree("bakery.test", 1)
	site.Latency = 300 * time.Millisecond
	dir := crawled(t, site)
	s, err := ReadSettings(dir)
	if err == nil {
		s.MaxTime = 50 * time.Millisecond
		_, err = Update(t.Context(), dir, nil, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	var drain func()
	r, err := Run(t.Context(), dir, Options{
		Line: func(storage.Line) { drain() },
		Attend: func(ctx context.Context, start Start) (crawler.Summary, error) {
			drain = start.Crawl.Drain
			return start.Crawl.Run(ctx)
		},
	})
	if err != nil || r.EndedBy != crawler.EndedMaxTime || r.Changes != nil {
		t.Errorf("ended by %q, changes %v, %v", r.EndedBy, r.Changes, err)
	}
	if r, err := Run(t.Context(), dir, Options{}); err != nil || r.Changes == nil {
		t.Errorf("%+v %v", r, err)
	}
}
