package robots

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func file(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestStandardNames(t *testing.T) {
	assert.Len(t, Standards(), 3)
	for _, s := range Standards() {
		got, err := ParseStandard(s.String())
		assert.Truef(t, got == s && err == nil, "%v: %v, %v", s, got, err)
	}
	_, err := ParseStandard("rfc2616")
	want := `robots: no standard "rfc2616"; there are rfc9309, draft1996, std1994`
	assert.Truef(t, err != nil && err.Error() == want, "%v, want %s", err, want)
	assert.Equal(t, RFC9309, Parse(nil, Options{Standard: 77}).Standard(), "an unknown standard")
}

// Records other than rules are read alike by all standards, and change no verdict.
func TestRecordsOfBindingGroups(t *testing.T) {
	f := []byte(file("license: /l", "user-agent: *", "visit-time: 0000-0100", "content-usage: all=y", "disallow: /a", "", "user-agent: curtsy", "crawl-delay: 2",
		"request-rate: 1/3", "visit-time: 0600-0845", "visit-time: 1200-1300", "content-usage: train-ai=n", "content-usage: /a train-ai=y", "content-signal: ai-train=no",
		"license: /l", "license: /m\x01", "disallow: /b"))
	for _, s := range Standards() {
		p := Parse(f, Options{Token: "curtsy", Standard: s})
		for _, c := range []struct {
			name      string
			got, want []string
		}{
			{"visit times", p.VisitTimes(), []string{"0600-0845", "1200-1300"}},
			{"usage", p.ContentUsage(), []string{"train-ai=n", "/a train-ai=y"}},
			{"signals", p.ContentSignals(), []string{"ai-train=no"}},
			{"licenses", p.Licenses(), []string{"/l"}},
		} {
			assert.Truef(t, slices.Equal(c.got, c.want), "%v: %s %q, want %q", s, c.name, c.got, c.want)
		}
		d, _ := p.CrawlDelay()
		r, _ := p.RequestRate()
		if d.Seconds() != 2 || r.Seconds() != 3 || p.Match("/a").Line != 0 || p.Match("/b").Line != 17 {
			t.Errorf("%v: %v, %v, %+v, %+v", s, d, r, p.Match("/a"), p.Match("/b"))
		}
		if other := Parse(f, Options{Token: "other", Standard: s}); !slices.Equal(other.VisitTimes(), []string{"0000-0100"}) || other.ContentSignals() != nil {
			t.Errorf("%v: %q, %q", s, other.VisitTimes(), other.ContentSignals())
		}
	}
}

func TestRulebook(t *testing.T) {
	// RFC 9309 closes /t/in by its length and opens it to "friend"; the draft opens it by order, and closes /c to
	// crawlers whose name is part of "curtsy-images".
	f := []byte(file("user-agent: *", "allow: /t", "disallow: /t/in", "disallow: /c", "crawl-delay: 3", "", "user-agent: friend", "disallow: /f", "request-rate: 1/7"))
	for _, c := range []struct {
		name    string
		terms   Terms
		tokens  []string
		refused map[string]Standard
		open    []string
		n       int
	}{
		{"zero", Terms{}, []string{"curtsy"}, map[string]Standard{"/t/in": RFC9309, "/c": RFC9309}, []string{"/t", "/f"}, 1},
		{"two tokens", Terms{}, []string{"friend", "curtsy"}, map[string]Standard{"/t/in": RFC9309, "/c": RFC9309, "/f": RFC9309}, []string{"/t"}, 2},
		{"only the draft", Terms{Standard: Draft1996}, []string{"curtsy"}, map[string]Standard{"/c": Draft1996}, []string{"/t/in", "/f"}, 1},
		{"the draft, strict", Terms{Standard: Draft1996, Strict: true}, []string{"curtsy", "end"},
			map[string]Standard{"/t/in": RFC9309, "/c": RFC9309, "/f": Draft1996}, []string{"/t"}, 4},
		{"1994, strict", Terms{Standard: Std1994, Strict: true}, []string{"friend", "curtsy"}, map[string]Standard{"/t/in": RFC9309, "/f": RFC9309}, []string{"/t"}, 4},
		{"RFC 9309, strict", Terms{Strict: true}, nil, map[string]Standard{"/t/in": RFC9309, "/c": RFC9309}, []string{"/t", "/f"}, 1},
	} {
		b := c.terms.Parse(f, c.tokens...)
		for target, s := range c.refused {
			v := b.Match(target)
			assert.Truef(t, !v.Allowed && v.Standard == s, "%s, %s: %+v", c.name, target, v)
		}
		for _, target := range c.open {
			v := b.Match(target)
			assert.Truef(t, v.Allowed && v.Standard == b.Policies()[0].Standard(), "%s, %s: %+v", c.name, target, v)
		}
		assert.Truef(t, len(b.Policies()) == c.n && b.Size() >= c.n*policySize, "%s: %d policies, want %d; size %d", c.name, len(b.Policies()), c.n, b.Size())
		d, ok := b.CrawlDelay()
		assert.Truef(t, ok && d.Seconds() == 3, "%s: Crawl-delay %v, %v", c.name, d, ok)
	}
	d, ok := (Terms{}).Parse(f, "x", "friend").RequestRate()
	assert.Truef(t, ok && d.Seconds() == 7, "Request-rate %v, %v", d, ok)
}
