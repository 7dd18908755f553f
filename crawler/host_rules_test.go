package crawler

import (
	"strings"
	"testing"

	"curtsy/crawler/crawltest"
	"curtsy/storage/hostrule"
)

// A delay below the floor is refused, whatever it is for.
func TestRule09_AHostSettingBelowTheFloorIsRefused(t *testing.T) {
	w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 1))
	w.cfg.Hosts = hostrule.Rules{{Match: "127.0.0.1", Delay: Floor / 2}}
	if _, err := New(t.Context(), w.cfg); err == nil || !strings.Contains(err.Error(), "floor") {
		t.Errorf("%v", err)
	}
}

// Budgets and patterns of some hosts bind these, beside those of all.
func TestHostSettingsNarrowBudgetsAndScope(t *testing.T) {
	rules := hostrule.Rules{{Match: "a.test", MaxPerHost: 3}, {Match: "b.test", Exclude: []string{`p2\.`}, Include: []string{`p[1-4]\.`}}}
	playAll(t, []scenario{{
		name: "three hosts", seeds: "http://a.test/ http://b.test/ http://c.test/",
		sites: []*crawltest.Site{crawltest.Tree("a.test", 20), crawltest.Tree("b.test", 20), crawltest.Tree("c.test", 20)},
		set:   func(w *world) { w.cfg.Hosts, w.cfg.Scope.Hosts, w.cfg.MaxPerHost = rules, rules, 6 },
		asked: map[string]string{"b.test": "/robots.txt / /p1.html /p3.html /p4.html"}, outcomes: map[string]string{"b.test/p2.html": "dropped: scope:host-exclude"},
		ended: EndedMaxPerHost, figures: map[string]int64{"pages": 3 + 4 + 6},
	}})
}
