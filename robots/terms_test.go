package robots

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func hopsTo(n int, last Exchange) (all []Exchange) {
	for i := range n {
		all = append(all, moveTo(fmt.Sprintf("http://hop.test/%d", i+1)))
	}
	return append(all, last)
}

// RFC 9309 follows five redirects, and then the file counts as unavailable; the draft follows "until a resource can be
// found", which is ten here; the 1994 document is silent, and follows five.
func TestOutcome_3_1_RedirectsInARow(t *testing.T) {
	good := Exchange{Status: 200, Body: rules}
	for _, c := range []struct {
		terms Terms
		most  int
		then  string
	}{
		{Terms{}, 5, "ALLOW"},
		{Terms{Strict: true}, 5, "ALLOW"},
		{Terms{Standard: Draft1996}, 10, "DENY"},
		{Terms{Standard: Draft1996, Strict: true}, 10, "DENY"},
		{Terms{Standard: Std1994}, 5, "DENY"},
		{Terms{Standard: Std1994, Strict: true}, 5, "DENY"},
	} {
		s, need := runBy(t, c.terms, State{}, hopsTo(c.most, good)...)
		expect(t, s, need, "RULES")
		over := hopsTo(c.most, moveTo("http://hop.test/last"))
		s, need = runBy(t, c.terms, State{}, over...)
		expect(t, s, need, c.then)
		if c.then == "DENY" && s.Failure() != "too many redirects" {
			t.Errorf("%+v: failure %q", c.terms, s.Failure())
		}
	}
}

func TestLifetime_3_2_AllStandards(t *testing.T) {
	const day = 24 * time.Hour
	header := func(kv ...string) Exchange { return Exchange{Status: 200, Body: rules, Header: fields(kv...)} }
	for _, row := range []struct {
		name string
		ex   Exchange
		want [3]time.Duration
	}{
		{"no headers", header(), [3]time.Duration{day, 7 * day, day}},
		{"max-age of two days", header("Cache-Control", "max-age=172800"), [3]time.Duration{day, 2 * day, day}},
		{"max-age of a month", header("Cache-Control", "max-age=2592000"), [3]time.Duration{day, 7 * day, day}},
		{"max-age of an hour", header("Cache-Control", "max-age=3600"), [3]time.Duration{time.Hour, time.Hour, time.Hour}},
		{"max-age of a second", header("Cache-Control", "max-age=1"), [3]time.Duration{5 * time.Minute, 5 * time.Minute, 5 * time.Minute}},
		{"no-store", header("Cache-Control", "no-store"), [3]time.Duration{5 * time.Minute, 5 * time.Minute, 5 * time.Minute}},
		{"Expires in three days", header("Expires", "Wed, 04 Mar 2026 12:00:00 GMT"), [3]time.Duration{day, 3 * day, day}},
		{"404", Exchange{Status: 404}, [3]time.Duration{day, 7 * day, day}},
		{"403", Exchange{Status: 403}, [3]time.Duration{day, 7 * day, day}},
	} {
		for i, s := range Standards() {
			t.Run(row.name+"/"+s.String(), func(t *testing.T) {
				for _, terms := range []Terms{{Standard: s}, {Standard: s, Strict: true}} {
					want := row.want[i]
					if terms.Strict {
						want = min(want, row.want[0])
					}
					got, _ := runBy(t, terms, State{}, row.ex)
					assert.Equalf(t, want, got.Expires().Sub(noon), "strict %v: life", terms.Strict)
					last := noon.Add(want - want/10)
					if need := terms.Need(got, site, last.Add(-time.Microsecond)); need.Action != Judge {
						t.Errorf("strict %v, before 90 %% of life: %v", terms.Strict, need.Action)
					}
					if need := terms.Need(got, site, last); need.Action != Refresh {
						t.Errorf("strict %v, at 90 %% of life: %v", terms.Strict, need.Action)
					}
					assert.Equalf(t, Fetch, terms.Need(got, site, noon.Add(want)).Action, "strict %v, at the end of life", terms.Strict)
				}
			})
		}
	}
}

// A state that the draft gave a week is good for a day in the eyes of RFC 9309.
func TestLifetime_3_2_TheTermsOfTheMomentBoundALife(t *testing.T) {
	s, _ := runBy(t, Terms{Standard: Draft1996}, State{}, Exchange{Status: 200, Body: rules})
	at := noon.Add(25 * time.Hour)
	for _, c := range []struct {
		terms Terms
		want  Action
	}{{Terms{Standard: Draft1996}, Judge}, {Terms{Standard: Draft1996, Strict: true}, Fetch}, {Terms{}, Fetch}, {Terms{Standard: Std1994}, Fetch}} {
		assert.Equal(t, c.want, c.terms.Need(s, site, at).Action, c.terms)
	}
}

// A kind of answer that only the draft knows: all is forbidden, and that is an answer, with a life and no retries.
func TestDraft1996_3_1_AccessRestrictions(t *testing.T) {
	draft := Terms{Standard: Draft1996}
	s, need := runBy(t, draft, State{}, Exchange{Status: 200, Body: rules})
	require.Equal(t, Judge, need.Action, need)
	at := noon.Add(7 * 24 * time.Hour)
	s, need = draft.Next(s, site, Exchange{Status: 401}, at)
	expect(t, s, need, "CLOSED")
	if s.Failures() != 0 || s.hasBody || !s.Expires().Equal(at.Add(7*24*time.Hour)) {
		t.Errorf("%+v", s)
	}
	s, need = draft.Next(s, site, Exchange{Status: 500}, at.Add(6*24*time.Hour+20*time.Hour))
	expect(t, s, need, "DENY")
}
