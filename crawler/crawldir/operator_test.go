package crawldir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"curtsy/crawler"
	"curtsy/crawler/control"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/explain"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
)

// steered runs a crawl of 60 pages, and calls meet after some exchanges.
func steered(t *testing.T, set func(*Settings), meet func(web *crawltest.Web, o control.Crawl)) (dir string, s Settings, o Options, sum crawler.Summary) {
	t.Helper()
	web, s, o := piped(t, crawltest.Tree("bakery.test", 60), crawltest.Tree("mill.test", 9))
	dir = in(t.TempDir(), "d")
	set(&s)
	bakery, err := Seed("http://bakery.test/", "bread")
	mill, bad := Seed("http://mill.test/", "")
	given := []frontier.Candidate{bakery, mill}
	if len(s.Hosts) == 0 {
		given = given[:1]
	}
	require.NoError(t, errors.Join(err, bad, Create(t.Context(), dir, &s, Given(given))))
	met := o
	met.Attend = func(ctx context.Context, start Start) (sum crawler.Summary, err error) {
		var run errgroup.Group
		run.Go(func() error {
			sum, err = start.Crawl.Run(ctx)
			return err
		})
		time.Sleep(5500 * time.Millisecond)
		meet(web, start.Operated)
		return sum, run.Wait()
	}
	return dir, s, o, ran(t, dir, met).Summary
}

func acts(t *testing.T, dir string) (all []string) {
	t.Helper()
	for m, err := range ledger.Marks(in(dir, LedgerName)) {
		require.NoError(t, err)
		if o := m.Operator; o != nil {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s: %s (%d) %s", o.Act, o.About, o.URLs, o.Note)))
		}
	}
	return all
}

func refusals(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	by := map[string]int64{}
	for l, err := range ledger.Read(in(dir, LedgerName)) {
		require.NoError(t, err)
		by[l.Reason]++
	}
	return by
}

// The change reports how many queued URLs it closes, and each gets a line. It also applies to later links and to resume.
func TestExclude_ClosesQueuedURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried, done control.Changed
		asked := 0
		none := func(*Settings) {}
		dir, _, _, _ := steered(t, none, func(web *crawltest.Web, o control.Crawl) {
			var err error
			tried, err = o.Change(t.Context(), control.Change{Setting: control.SetExclude, Value: `/p\d*[13579]\.html`, Try: true})
			assert.NoError(t, err)
			ctx := control.Noted(t.Context(), "odd pages are a calendar")
			done, err = o.Change(ctx, control.Change{Setting: control.SetExclude, Value: `/p\d*[13579]\.html`})
			assert.NoError(t, err)
			asked = len(web.Referee().Requests())
			u, err := canon.Parse("http://bakery.test/p59.html")
			require.NoError(t, err)
			e, err := o.Explain(t.Context(), explain.Question{URL: u})
			require.NoError(t, err)
			assert.Equal(t, "scope:exclude", e.Scope.Rule, e.Scope)
			time.Sleep(time.Minute)
			for _, r := range web.Referee().Requests()[asked:] {
				n := len(r.Target)
				assert.Truef(t, r.Target == "/robots.txt" || (r.Target[n-6]-'0')%2 != 1, "%s was requested", r.Target)
			}
		})
		assert.Truef(t, tried.URLs != 0 && tried.URLs == done.URLs && tried.Known && tried.Pending > tried.URLs && len(tried.Examples) == int(tried.URLs), "%+v, and %+v", tried, done)
		want := []string{fmt.Sprintf(`exclude: added /p\d*[13579]\.html (%d) odd pages are a calendar`, done.URLs)}
		assert.Equal(t, want, acts(t, dir))
		n := refusals(t, dir)["scope:exclude"]
		assert.Truef(t, n >= done.URLs, "%d lines of excluded URLs, and %d were queued", n, done.URLs)
		s, err := ReadSettings(dir)
		assert.Truef(t, err == nil && len(s.Exclude) == 1, "%q, %v", s.Exclude, err)
		audited(t, dir)
	})
}

// The settings file is written before the ledger's mark.
func TestAChangeOutlivesAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, s, o := piped(t, crawltest.Tree("bakery.test", 40))
		s.MaxPages = 8
		dir := created(t, &s, "http://bakery.test/")
		run := o
		run.Attend = func(ctx context.Context, start Start) (crawler.Summary, error) {
			sum, err := start.Crawl.Run(ctx)
			_, changed := start.Operated.Change(ctx, control.Change{Setting: control.SetExclude, Value: "html"})
			return sum, errors.Join(err, changed)
		}
		ran(t, dir, run)
		killedRun(t, dir, nil, o)
		asked := len(web.Referee().Requests())
		f, err := OpenStopped(t.Context(), dir, nil)
		if err == nil {
			_, err = f.Change(t.Context(), control.Change{Setting: control.SetMaxPages, Value: "100"})
			err = errors.Join(err, f.Close())
		}
		require.NoError(t, err)
		ran(t, dir, o)
		if n := len(web.Referee().Requests()); n > asked+1 { // the seed or robots.txt may be requested once more
			t.Errorf("%d requests after a kill, though all is excluded", n-asked)
		}
		got := acts(t, dir)
		assert.Truef(t, len(got) == 2 && strings.HasPrefix(got[0], "exclude: added html") && got[1] == "max-pages: 100, was 8 (0)", "%q", got)
		audited(t, dir)
	})
}

func TestABudgetIsChangedWhileACrawlRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		set    func(*Settings)
		change []control.Change
		ended  string
		pages  int64 // at least; at most two under way more, and one that begins at the very moment of the end
	}{
		{"raised", func(s *Settings) { s.MaxPages = 10 }, []control.Change{{Setting: control.SetMaxPages, Value: "20"}}, "max-pages", 20},
		{"lowered", func(s *Settings) { s.MaxPages = 50 }, []control.Change{{Setting: control.SetMaxPages, Value: "2"}}, "max-pages", 4},
		{"no longer", func(s *Settings) { s.MaxPages = 10 }, []control.Change{{Setting: control.SetMaxPages, Value: "0"}}, "drained", 60},
		{"of a host that has all its pages", func(s *Settings) {
			s.MaxPerHost, s.Hosts = 3, hostrule.Rules{{Match: "mill.test", Delay: 10 * time.Second, MaxPerHost: 3}}
		}, []control.Change{{Setting: control.SetMaxPerHost, Value: "9"}}, "max-per-host", 12},
		{"of a domain that has all its pages", slowMill(func(s *Settings) { s.MaxPerDomain = 3 }),
			[]control.Change{{Setting: control.SetMaxPerDomain, Value: "9"}}, "max-per-domain", 18},
		{"the first of domains", func(*Settings) {}, []control.Change{{Setting: control.SetMaxPerDomain, Value: "8"}}, "max-per-domain", 8},
		{"of a tag that has all its pages", slowMill(func(s *Settings) { s.MaxPerTag = 3 }),
			[]control.Change{{Setting: control.SetMaxPerTag, Value: "9"}}, "max-per-tag", 18},
		{"no longer of a tag", slowMill(func(s *Settings) { s.MaxPerTag = 3 }),
			[]control.Change{{Setting: control.SetMaxPerTag, Value: "0"}}, "drained", 69},
		{"the first of tags", func(*Settings) {}, []control.Change{{Setting: control.SetMaxPerTag, Value: "8"}}, "max-per-tag", 8},
		{"a condition", func(*Settings) {}, []control.Change{{Setting: control.SetStopWhen, Value: "errors>5%\npages=9"}}, "stop-when: pages=9", 9},
		{"a condition that holds", func(*Settings) {}, []control.Change{{Setting: control.SetStopWhen, Value: "tag:bread pages=2"}}, "stop-when: tag:bread pages=2", 4},
		{"no condition", func(s *Settings) { s.StopWhen = []string{"pages=9"} }, []control.Change{{Setting: control.SetStopWhen, Value: "none"}}, "drained", 60},
		{"a window", func(*Settings) {}, []control.Change{{Setting: control.SetWindow, Value: "02:00-03:00\nMon 04:00-05:00"}}, "waiting", 4},
		{"octets", func(*Settings) {}, []control.Change{{Setting: control.SetMaxBytes, Value: "1KiB"}}, "max-bytes", 4},
		{"time", func(s *Settings) { s.MaxTime = 8 * time.Second }, []control.Change{{Setting: control.SetMaxTime, Value: "20s"}}, "max-time", 17},
		{"time that is over", func(s *Settings) { s.MaxTime = time.Minute }, []control.Change{{Setting: control.SetMaxTime, Value: "1s"}}, "max-time", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, _, _, sum := steered(t, c.set, func(_ *crawltest.Web, o control.Crawl) {
					for _, change := range c.change {
						assert.NoError(t, one(o.Change(t.Context(), change)))
					}
				})
				assert.Truef(t, sum.EndedBy == c.ended && sum.Status.Pages >= c.pages && sum.Status.Pages <= c.pages+3, "ended by %s with %d pages", sum.EndedBy, sum.Status.Pages)
				audited(t, dir)
			})
		})
	}
}

// slowMill adds a second host that outlasts the first.
func slowMill(set func(*Settings)) func(*Settings) {
	return func(s *Settings) {
		s.Hosts = hostrule.Rules{{Match: "mill.test", Delay: 10 * time.Second}}
		set(s)
	}
}

// The archive declares the window of the run's start, so a change may only narrow it.
func TestRule15_AnOperatorNarrowsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, _, _, sum := steered(t, func(s *Settings) { s.Window = []string{"00:00-06:00", "12:00-18:00"} }, func(_ *crawltest.Web, o control.Crawl) {
			for _, c := range []struct {
				window string
				good   bool
			}{{"none", false}, {"00:00-06:01", false}, {"Sat 13:00-19:00 Europe/Berlin", false}, {"00:00-00:00", false}, {"x", false}, {"Sat-Sun 00:00-06:00", true}} {
				_, err := o.Change(t.Context(), control.Change{Setting: control.SetWindow, Value: c.window})
				assert.Truef(t, (err == nil) == c.good && (err == nil || control.BadOrder(err)), "%s: %v", c.window, err)
			}
		})
		s, err := ReadSettings(dir)
		assert.Truef(t, err == nil && slices.Equal(s.Window, []string{"Sat-Sun 00:00-06:00"}) && sum.EndedBy == crawler.EndedDrained, "%q, %v; ended by %s", s.Window, err, sum.EndedBy)
		audited(t, dir)
	})
}

func TestBudget_RaisingReleasesHeldURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, _, o, sum := steered(t, func(s *Settings) { s.MaxPerTag = 3 }, func(*crawltest.Web, control.Crawl) {})
		assert.Equalf(t, crawler.EndedMaxPerTag, sum.EndedBy, "ended by %s", sum.EndedBy)
		f, err := OpenStopped(t.Context(), dir, nil)
		if err == nil {
			_, err = f.Change(t.Context(), control.Change{Setting: control.SetMaxPerTag, Value: "9"})
			err = errors.Join(err, f.Close())
		}
		require.NoError(t, err)
		r, err := Run(t.Context(), dir, o)
		if err != nil || r.Summary.EndedBy != crawler.EndedMaxPerTag || r.Summary.Status.Pages != 9 {
			t.Errorf("ended by %s with %d pages, %v", r.Summary.EndedBy, r.Summary.Status.Pages, err)
		}
		audited(t, dir)
	})
}

func TestRule9_AnOperatorRaisesThePaceAndNeverLowersIt(t *testing.T) {
	for _, host := range []string{"", "bakery.test", "*.test", "Bakery.TEST", "*.TEST"} {
		synctest.Test(t, func(t *testing.T) {
			none := func(s *Settings) { s.MaxPages = 10 }
			dir, _, _, _ := steered(t, none, func(web *crawltest.Web, o control.Crawl) {
				for _, c := range []struct {
					delay string
					good  bool
				}{{"900ms", false}, {"0s", false}, {"1s", false}, {"-3s", false}, {"x", false}, {"4s", true}, {"3s", false}} {
					_, err := o.Change(t.Context(), control.Change{Setting: control.SetDelay, Value: c.delay, Host: host})
					assert.Truef(t, (err == nil) == c.good && (err == nil || control.BadOrder(err)), "%s of %q: %v", c.delay, host, err)
				}
				was := len(web.Referee().Requests())
				time.Sleep(time.Minute)
				all := web.Referee().Requests()
				for i := was; i < len(all); i++ {
					gap := all[i].Start.Sub(all[i-1].End)
					assert.Truef(t, gap >= 4*time.Second, "a pause of %v", gap)
				}
			})
			s, err := ReadSettings(dir)
			assert.Truef(t, err == nil && len(s.Hosts) == 1 && s.Hosts[0].Delay == 4*time.Second, "%+v, %v", s.Hosts, err)
			audited(t, dir)
		})
	}
}

func TestOperator_ActsAreInTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, _, _, _ := steered(t, func(*Settings) {}, func(_ *crawltest.Web, o control.Crawl) {
			u, err := canon.Parse("http://bakery.test/")
			require.NoError(t, err)
			other, err := canon.Parse("http://bakery.test/p58.html?secret")
			require.NoError(t, err)
			a, ctx := u.Authority(), control.Noted(t.Context(), "asked by phone")
			for _, err := range []error{
				o.Pause(ctx, true), o.Pause(ctx, true), o.Pause(ctx, false),
				one(o.Steer(ctx, frontier.Steering{Act: frontier.Park, Authority: a, Reason: "too busy", For: time.Hour})),
				one(o.Steer(ctx, frontier.Steering{Act: frontier.Resume, Authority: a})),
				one(o.Steer(ctx, frontier.Steering{Act: frontier.Resume, Authority: a})),
				one(o.Retry(ctx, frontier.Retrial{Outcome: frontier.Failed})),
				one(o.Add(ctx, []frontier.Candidate{{URL: other, Kind: frontier.KindSeed, Seed: other.String()}})),
				one(o.Steer(ctx, frontier.Steering{Act: frontier.Drop, Authority: a})),
				one(o.Change(ctx, control.Change{Setting: control.SetOptOuts})),
				o.Drain(ctx),
			} {
				assert.NoError(t, err)
			}
		})
		got := strings.Join(acts(t, dir), "\n")
		for _, want := range []string{
			"pause:  (0) asked by phone", "unpause:  (0) asked by phone", "park: http://bakery.test, for 1h0m0s (", ") too busy",
			"release: http://bakery.test (", "add seeds: http://bakery.test (1) asked by phone", "drop: http://bakery.test (",
			"opt-out: read again: 0 entries,", "drain:  (0) asked by phone",
		} {
			assert.Containsf(t, got, want, "no %q in\n%s", want, got)
		}
		assert.Equal(t, 8, strings.Count(got, "\n")+1, got)
		audited(t, dir)
	})
}

func one[T any](_ T, err error) error { return err }

func TestChange_InvalidIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, s, _, _ := steered(t, func(s *Settings) { s.MaxPages = 6 }, func(_ *crawltest.Web, o control.Crawl) {
			for _, c := range []control.Change{
				{}, {Setting: "agent", Value: "other"}, {Setting: "robots-standard", Value: "std1994"}, {Setting: control.SetMaxPages, Value: "-1"},
				{Setting: control.SetMaxPages, Value: "6"}, {Setting: control.SetMaxBytes, Value: "5"}, {Setting: control.SetExclude, Value: "("},
				{Setting: control.SetExclude}, {Setting: control.SetExclude, Value: "x", Remove: true}, {Setting: control.SetInclude, Value: strings.Repeat("x", maxPattern+1)},
				{Setting: control.SetDelay, Value: "5s", Host: "http://bakery.test/"},
			} {
				_, err := o.Change(t.Context(), c)
				assert.Truef(t, control.BadOrder(err), "%+v: %v", c, err)
			}
		})
		now, err := ReadSettings(dir)
		if err != nil || now.MaxPages != s.MaxPages || len(now.Exclude)+len(now.Include)+len(now.Hosts) > 0 || len(acts(t, dir)) > 0 {
			t.Errorf("%+v, %v; %q", now, err, acts(t, dir))
		}
	})
}
