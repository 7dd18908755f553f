package crawler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/explain"
	"curtsy/crawler/host"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Politeness rule 9: what an operator sets for some hosts lengthens their pace and no other's, never shortens what a site
// asks for, and the ledger names who asked.
func TestRule09_AHostSettingLengthensThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := crawltest.Tree("www.a.test", 4), crawltest.Tree("b.test", 4), crawltest.Tree("x.a.test", 4)
		c.Robots.Body = "User-agent: *\nCrawl-delay: 9\n"
		w := newWorld(t, []string{"http://www.a.test/", "http://b.test/", "http://x.a.test/"}, a, b, c)
		w.cfg.Hosts = host.Rules{{Match: "*.a.test", Delay: 4 * time.Second}}
		w.run()
		gaps := map[string][]string{}
		for _, l := range w.ledger.all {
			if l.Gap > 0 {
				u := parse(t, l.URL)
				if l.Gap < l.Pace {
					t.Errorf("%s: a gap of %v, %v was due", l.URL, l.Gap, l.Pace)
				}
				gaps[u.Host()] = append(gaps[u.Host()], fmt.Sprint(l.Pace, " ", l.PaceBy))
			}
		}
		for host, want := range map[string]string{
			"www.a.test": "4s " + string(storage.ByHostSetting), "b.test": "1s " + string(storage.ByFloor), "x.a.test": "9s " + string(storage.ByCrawlDelay),
		} {
			if got := slices.Compact(gaps[host]); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %q, want %q", host, got, want)
			}
		}
		cr := w.crawl()
		e, err := cr.Explain(t.Context(), explain.Question{URL: parse(t, "http://www.a.test/p1.html")})
		if err != nil || e.Pace.By != storage.ByHostSetting || e.Pace.Seconds != 4 {
			t.Errorf("explain: %v %+v", err, e.Pace)
		}
		w.judged(crawltest.Rules{})
	})
}

// A delay below the floor is refused, whatever it is for.
func TestRule09_AHostSettingBelowTheFloorIsRefused(t *testing.T) {
	w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 1))
	w.cfg.Hosts = host.Rules{{Match: "127.0.0.1", Delay: Floor / 2}}
	if _, err := New(t.Context(), w.cfg); err == nil || !strings.Contains(err.Error(), "floor") {
		t.Errorf("%v", err)
	}
}

// Budgets and patterns of some hosts bind these, beside those of all.
func TestHostSettingsNarrowBudgetsAndScope(t *testing.T) {
	rules := host.Rules{{Match: "a.test", MaxPerHost: 3}, {Match: "b.test", Exclude: []string{`p2\.`}, Include: []string{`p[1-4]\.`}}}
	tell(t, []story{{
		name: "three hosts", seeds: "http://a.test/ http://b.test/ http://c.test/",
		sites: []*crawltest.Site{crawltest.Tree("a.test", 20), crawltest.Tree("b.test", 20), crawltest.Tree("c.test", 20)},
		set:   func(w *world) { w.cfg.Hosts, w.cfg.Scope.Hosts, w.cfg.MaxPerHost = rules, rules, 6 },
		asked: map[string]string{"b.test": "/robots.txt / /p1.html /p3.html /p4.html"}, outcomes: map[string]string{"b.test/p2.html": "dropped: scope:host-exclude"},
		ended: EndedMaxPerHost, figures: map[string]int64{"pages": 3 + 4 + 6},
	}})
}

// A host is asked within its hours alone, robots.txt included, and a day's budget of its own holds.
func TestAHostIsAskedWithinItsHoursAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
		w := newWorld(t, []string{"http://a.test/", "http://b.test/", "http://c.test/"}, crawltest.Tree("a.test", 200), crawltest.Tree("b.test", 3), crawltest.Tree("c.test", 12))
		w.cfg.Hosts = host.Rules{{Match: "a.test", Hours: []string{"22:00-22:02"}}}
		w.cfg.MaxWait = 72 * time.Hour
		w.cfg.Daily = budget.NewDaily(func(a canon.Authority) int64 {
			if a.Host() == "c.test" {
				return 5
			}
			return 0
		})
		w.run()
		n, days := 0, map[int]int{}
		for _, l := range w.ledger.all {
			if l.Decision != storage.DecisionAllow && l.Decision != storage.DecisionRobots {
				continue
			}
			switch at := l.Time.UTC(); parse(t, l.URL).Host() {
			case "a.test":
				n++
				if at.Hour() != 22 || at.Minute() > 2 {
					t.Errorf("%s was asked for at %v", l.URL, at)
				}
			case "b.test":
				if at.Hour() != 0 {
					t.Errorf("%s was asked for at %v", l.URL, at)
				}
			case "c.test":
				days[at.YearDay()]++
			}
		}
		if n < 200 || len(days) != 3 {
			t.Errorf("%d requests within the hours; of the other by day: %v", n, days)
		}
	})
}
