package robots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRFC9309_2_2_2_ExplainNamesEveryCandidateAndItsLength(t *testing.T) {
	p := Parse([]byte("User-agent: *\nDisallow: /\n\nUser-agent: curtsy\nDisallow: /a\nAllow: /a/b\nDisallow: /*.gif$\nAllow: /a/b\nDisallow: /z\n"), Options{Token: "curtsy"})
	e := p.Explain("/a/b/c.gif")
	assert.Truef(t, e.Named && e.Group == "curtsy" && e.Token == "curtsy" && e.Rules == 4 && e.Target == "/a/b/c.gif", "%+v", e)
	var got []string
	for _, c := range e.Candidates {
		got = append(got, fmt.Sprintf("%d %s %d %v", c.Line, c.Rule, c.Length, c.Allow))
	}
	want := "7 Disallow: /*.gif$ 7 false; 6 Allow: /a/b 4 true; 5 Disallow: /a 2 false"
	s := strings.Join(got, "; ")
	assert.Truef(t, s == want, "%s\nwant %s", s, want)
}

func TestExplain_RobotsTxtHasNoCandidate(t *testing.T) {
	p := Parse([]byte("User-agent: *\nDisallow: /\n"), Options{Token: "curtsy"})
	e := p.Explain("/robots%2Etxt")
	assert.Truef(t, e.Verdict.Reason == RobotsItself && e.Verdict.Allowed && len(e.Candidates) == 0, "%+v", e)
	if e := p.Explain("/x"); e.Named || e.Group != "*" || e.Verdict.Allowed || len(e.Candidates) != 1 {
		t.Errorf("%+v", e)
	}
}

// holds checks an explanation, for any standard: its first candidate is the rule of Match and its second the runner-up.
func holds(t *testing.T, p *Policy, target string) (candidates int) {
	t.Helper()
	e, v := p.Explain(target), p.Match(target)
	require.Equalf(t, v, e.Verdict, "%s: Explain returns %+v, Match %+v", target, e.Verdict, v)
	first, second, line := "", "", 0
	if len(e.Candidates) > 0 {
		first, line = e.Candidates[0].Rule, e.Candidates[0].Line
		require.Truef(t, v.Allowed == e.Candidates[0].Allow, "%s: the first candidate is %+v, the verdict %+v", target, e.Candidates[0], v)
	}
	if len(e.Candidates) > 1 {
		second = e.Candidates[1].Rule
	}
	require.Truef(t, first == v.Rule && line == v.Line && second == v.RunnerUp, "%s by %v: candidates %+v, verdict %+v", target, p.Standard(), e.Candidates, v)
	return len(e.Candidates)
}

// The candidates are exactly the rules that match when each is the only one.
func TestExplainAgreesWithMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	path := func() string {
		var b strings.Builder
		for range 1 + rng.IntN(4) {
			b.WriteString(pick("/a", "/b", "/", "a", "*", "%41", "%2f", "?q", "$", "/A"))
		}
		return "/" + strings.TrimPrefix(b.String(), "/")
	}
	candidates := 0
	for range 3000 {
		var rules []string
		for range 1 + rng.IntN(8) {
			rules = append(rules, pick("Allow", "Disallow")+": "+path())
		}
		target := strings.NewReplacer("*", "x", "$", "").Replace(path())
		for _, standard := range Standards() {
			o := Options{Token: "curtsy", Standard: standard}
			p := Parse([]byte("User-agent: *\n"+strings.Join(rules, "\n")+"\n"), o)
			candidates += holds(t, p, target)
			single := 0
			kept := map[string]bool{}
			for _, c := range append(p.rules.plain, p.rules.wild...) {
				rule := c.written.in(p.rules.text)
				if kept[rule] {
					continue
				}
				kept[rule] = true
				if Parse([]byte("User-agent: *\n"+rule+"\n"), o).Match(target).Line > 0 {
					single++
				}
			}
			if e := p.Explain(target); e.Verdict.Reason != RobotsItself && len(e.Candidates) != single {
				t.Fatalf("%s by %v of %q: %d candidates, %d rules match", target, standard, rules, len(e.Candidates), single)
			}
		}
	}
	assert.GreaterOrEqual(t, candidates, 2000, "candidates in all: the property was hardly tried")
}

func FuzzExplainAgreesWithMatch(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$\nAllow: /a\n", "/axb")
	f.Add("User-agent: curtsy\nDisallow: /%\nAllow: /%25\n", "/%2")
	f.Fuzz(func(t *testing.T, body, target string) {
		for _, standard := range Standards() {
			holds(t, Parse([]byte(body), Options{Token: "curtsy", Standard: standard}), target)
		}
	})
}

func ExamplePolicy_Explain() {
	p := Parse([]byte("User-agent: *\nDisallow: /shop\nAllow: /shop/open\n"), Options{Token: "curtsy"})
	for _, c := range p.Explain("/shop/open/bread").Candidates {
		fmt.Println(c.Length, c.Rule)
	}
	// Output:
	// 10 Allow: /shop/open
	// 5 Disallow: /shop
}
