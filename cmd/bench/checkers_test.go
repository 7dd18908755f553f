package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/check"
	"curtsy/crawler/crawltest"
)

const base = "http://127.0.0.1:9"

// all is the output of a checker that finds each fault except those of a kind.
func all(site *crawltest.FaultySite, but crawltest.FaultKind) string {
	var b strings.Builder
	for _, f := range site.Faults() {
		switch f.Kind {
		case but:
		case crawltest.NoURL:
			b.WriteString("bad: " + f.URL + "\n")
		case crawltest.TwoIDs:
			b.WriteString("twice: " + f.Name + "\n")
		default:
			b.WriteString(base + f.URL + " in " + base + f.Page + ".\n")
		}
	}
	return b.String()
}

func TestWhoNamesEachFaultHasFoundAll(t *testing.T) {
	site := crawltest.NewFaultySite()
	if s := others(site, base, all(site, "")); s.Found != 93 || len(s.Missed) > 0 || len(s.Invented) > 0 {
		t.Errorf("%+v", s)
	}
	if s := others(site, base, ""); s.Found != 0 || len(s.Missed) != 31 {
		t.Errorf("%+v", s)
	}
}

func TestAGoodPageThatIsNamedIsInvented(t *testing.T) {
	site := crawltest.NewFaultySite()
	s := others(site, base, all(site, "")+base+"/sub/good.html, and http://elsewhere.test/x\n")
	assert.Equal(t, []string{"/sub/good.html"}, s.Invented)
}

// curtsy must report the kind of fault: a missing page is not a redirect.
func TestOursIsFoundInTheRightListOnly(t *testing.T) {
	site := crawltest.NewFaultySite()
	var right, wrong check.Result
	for _, f := range site.Faults() {
		url := base + f.URL
		if f.Kind == crawltest.NoURL {
			url = f.URL
		}
		finding := check.Finding{URL: url}
		switch f.Kind {
		case crawltest.TwoIDs:
			right.Duplicates = append(right.Duplicates, check.Finding{URL: url, Reason: "id " + f.Name})
			wrong.Broken = append(wrong.Broken, finding)
		case crawltest.Moved, crawltest.Chain:
			right.Redirects = append(right.Redirects, check.Redirect{Finding: finding})
			wrong.Broken = append(wrong.Broken, finding)
		default:
			right.Broken = append(right.Broken, finding)
			wrong.Redirects = append(wrong.Redirects, check.Redirect{Finding: finding})
		}
	}
	for _, c := range []struct {
		result          check.Result
		found, invented int
	}{{right, 93, 0}, {wrong, 0, 93}, {check.Result{}, 0, 0}} {
		said, err := json.Marshal(c.result)
		require.NoError(t, err)
		if s, err := own(site, base, string(said)); err != nil || s.Found != c.found || (len(s.Invented) > 0) != (c.invented > 0) {
			t.Errorf("%+v, %v, want %d found", s, err, c.found)
		}
	}
	if _, err := own(site, base, "curtsy: no space left"); err == nil {
		t.Error("text is taken for a result")
	}
}
