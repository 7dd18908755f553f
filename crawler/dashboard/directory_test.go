package dashboard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"curtsy/crawler"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

// crawled runs a crawl of 40 pages until meet returns, and returns the source of its directory.
func crawled(t *testing.T, meet func(d *directory, a canon.Authority)) (*directory, canon.Authority) {
	t.Helper()
	web := crawltest.New(crawltest.Tree("bakery.test", 40))
	require.NoError(t, web.Start())
	t.Cleanup(func() { web.Close() })
	dir, s := filepath.Join(t.TempDir(), "d"), crawldir.Defaults()
	s.Delay, s.MaxWait = 0, time.Minute
	seeds, err := crawldir.SeedURLs(web.LoopbackURL("bakery.test"))
	if err == nil {
		err = crawldir.Create(t.Context(), dir, &s, seeds)
	}
	require.NoError(t, err)
	root, err := canon.Parse(web.LoopbackURL("bakery.test"))
	require.NoError(t, err)
	d, a := NewDirectory(dir), root.Authority()
	_, err = crawldir.Run(t.Context(), dir, crawldir.Options{Attend: func(ctx context.Context, start crawldir.Start) (sum crawler.Summary, err error) {
		var run errgroup.Group
		start.Crawl.Pause(true) // leaves URLs to steer
		run.Go(func() error {
			sum, err = start.Crawl.Run(ctx)
			return err
		})
		for err := control.ErrNotRunning; errors.Is(err, control.ErrNotRunning) && ctx.Err() == nil; {
			_, err = control.Ask(ctx, dir) // until it listens
		}
		meet(d, a)
		start.Crawl.Drain()
		return sum, run.Wait()
	}})
	require.NoError(t, err)
	return d, a
}

func TestActsReachARunningCrawl(t *testing.T) {
	do := func(d *directory, a Act) string {
		said, err := d.Do(t.Context(), a)
		assert.NoError(t, err, a.Verb)
		return said
	}
	d, a := crawled(t, func(d *directory, a canon.Authority) {
		look, err := d.Look(t.Context())
		assert.Truef(t, err == nil && look.Running && look.Status.State == "paused" && look.Waits.Hosts == 1 && look.Waits.Looked == 1, "%+v, %v", look, err)
		seed, err := canon.Parse(a.Origin() + "/p3.html")
		require.NoError(t, err)
		for _, x := range []struct {
			act  Act
			want string
		}{
			{Act{Verb: ActSeed, Seed: seed}, "was added"},
			{Act{Verb: ActSeed, Seed: seed}, "already known"},
			{Act{Verb: ActPark, Host: a, Reason: "asked by phone"}, "is paused"},
			{Act{Verb: ActRelease, Host: a}, "is unpaused"},
			{Act{Verb: ActRelease, Host: a}, "nothing to change"},
			{Act{Verb: ActRetry, Host: a, What: frontier.Failed}, "0 URLs"},
			{Act{Verb: ActChange, Change: control.Change{Setting: "max-pages", Value: "5"}, Reason: "enough"}, "max-pages is now 5; it was 0"},
			{Act{Verb: ActChange, Change: control.Change{Setting: "exclude", Value: "p3"}}, "It affects 1 URL of 2"},
			{Act{Verb: ActChange, Change: control.Change{Setting: "opt-out"}}, "reread"},
			{Act{Verb: ActGoOn}, "continues"},
			{Act{Verb: ActPause}, "Paused"},
		} {
			assert.Contains(t, do(d, x.act), x.want, x.act)
		}
		done, err := d.Try(t.Context(), control.Change{Setting: "exclude", Value: "p3", Remove: true})
		assert.Truef(t, err == nil && done.Before == "p3", "%+v, %v", done, err)
		_, err = d.Do(t.Context(), Act{Verb: "obey"})
		assert.Error(t, err, "an act that there is not was obeyed")
		s, err := d.Settings(t.Context())
		assert.Truef(t, err == nil && s.Budgets["max-pages"] == "5" && len(s.Exclude) == 1 && s.Delay != "", "%+v, %v", s, err)
		do(d, Act{Verb: ActDrop, Host: a, Reason: "enough"})
		do(d, Act{Verb: ActDrain})
	})
	_, _, err := d.Decisions(100)
	require.NoError(t, err)
	var words []string
	for _, m := range d.Acts() { // the newest first
		words = append([]string{m.Operator.Act}, words...)
	}
	assert.Equal(t, "add seeds, add seeds, park, release, max-pages, exclude, opt-out, unpause, pause, drop, drain", strings.Join(words, ", "))
	o := d.Acts()[8].Operator
	assert.Truef(t, o.Act == "park" && o.About == a.Origin() && o.Note == "asked by phone" && o.URLs == 2, "%+v", o)
}

func TestAStoppedCrawlIsShownAndTakesNoOrders(t *testing.T) {
	d, a := crawled(t, func(*directory, canon.Authority) {})
	look, err := d.Look(t.Context())
	assert.Truef(t, err == nil && !look.Running && look.Status.State == "stopped" && look.Waits.Permitted == 0 && look.Disk.Frontier != 0, "%+v, %v", look, err)
	p, err := d.Hosts(t.Context(), status.Query{Limit: 10})
	assert.Truef(t, err == nil && len(p.Rows) == 1 && p.Rows[0].Pending == 1, "%+v, %v", p, err)
	o, err := d.Host(t.Context(), a)
	assert.Truef(t, err == nil && o.Known && o.Pending == 1, "%+v, %v", o, err)
	u, err := a.URL("/")
	require.NoError(t, err)
	e, err := d.Explain(t.Context(), u)
	assert.Truef(t, err == nil && e.Crawl == "stopped", "%+v, %v", e, err)
	_, err = d.Do(t.Context(), Act{Verb: ActPark, Host: a})
	assert.ErrorIs(t, err, ErrReadOnly)
	_, err = d.Try(t.Context(), control.Change{Setting: "exclude", Value: "x"})
	assert.ErrorIs(t, err, ErrReadOnly)
	gaps, err := d.Gaps(t.Context(), a, 10)
	assert.Truef(t, err == nil && len(gaps) == 0, "%+v, %v", gaps, err)
}
