package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A crawl that keeps all that ours would keep is clean by our rules, whoever wrote it and whatever its dates hide. That
// answers began late is not held against it.
func TestAPoliteCrawlOfOthersKeepsOurRules(t *testing.T) {
	forms := []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z"}
	for seed := range uint64(20) {
		w := newWorld(seed)
		a := foreign(t)
		a.form = forms[seed%3]
		for _, s := range w.sites {
			s.rules = strings.ReplaceAll(s.rules, "User-agent: curtsy\n", "User-agent: Lantern\n")
		}
		for range 10 + w.r.IntN(60) {
			w.step(a)
		}
		if r := a.audit(Options{Strict: true}); !r.Clean {
			t.Errorf("seed %d, dates like %s: %q%s", seed, a.form, codes(r), shown(r))
		}
	}
}

// An archive without a warcinfo record can be held to them as well.
func TestOurRulesNeedNoWarcinfo(t *testing.T) {
	a := &archive{t: t, form: "2006-01-02T15:04:05Z"}
	a.robots(rule)
	for i := range 50 {
		a.add(fetch{url: fmt.Sprintf("%s/%d", site, i), at: time.Duration(i) * s / 5, meta: "none"})
	}
	if r := a.audit(Options{Strict: true}); codes(r) != "gap" {
		t.Errorf("found %q%s", codes(r), shown(r))
	}
}
