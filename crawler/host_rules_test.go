package crawler

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/host"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

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
				assert.Equalf(t, 0, at.Hour(), "%s was asked for at %v", l.URL, at)
			case "c.test":
				days[at.YearDay()]++
			}
		}
		if n < 200 || len(days) != 3 {
			t.Errorf("%d requests within the hours; of the other by day: %v", n, days)
		}
	})
}
