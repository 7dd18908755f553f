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
// found", which is ten here; the 1994 document sets no limit, and follows five.
func TestOutcome_3_1_RedirectsInARow(t *testing.T) {
	good := Exchange{Status: 200, Body: rules}
	for _, c := range []struct {
		terms Terms
		most  int
		then  string
	}{
		{Terms{}, 5, "ALLOW"},
		{Terms{Strict: true}, 5, "ALLOW"},
		{Terms{RedirectOverflow: Deny}, 5, "DENY"},
		{Terms{RedirectOverflow: UseStale}, 5, "ALLOW"},
		{Terms{Standard: Draft1996}, 10, "DENY"},
		{Terms{Standard: Draft1996, Strict: true}, 10, "DENY"},
		{Terms{Standard: Draft1996, RedirectOverflow: Allow}, 10, "ALLOW"},
		{Terms{Standard: Std1994}, 5, "DENY"},
		{Terms{Standard: Std1994, Strict: true}, 5, "DENY"},
	} {
		s, need := runBy(t, c.terms, State{}, hopsTo(c.most, good)...)
		expect(t, s, need, "RULES")
		over := hopsTo(c.most, moveTo("http://hop.test/last"))
		s, need = runBy(t, c.terms, State{}, over...)
		expect(t, s, need, c.then)
		assert.Truef(t, c.then != "DENY" || s.Failure() == "too many redirects", "%+v: failure %q", c.terms, s.Failure())
	}
}

// The options of 3.1. Strictly, those that permit more than the default of RFC 9309 do nothing.
func TestOutcome_3_1_Options(t *testing.T) {
	for _, c := range []struct {
		terms  Terms
		status int
		want   string
	}{
		{Terms{Forbidden: Deny}, 403, "CLOSED"},
		{Terms{Forbidden: Deny}, 401, "CLOSED"},
		{Terms{Forbidden: Deny}, 404, "ALLOW"},
		{Terms{Forbidden: Deny, Strict: true}, 403, "CLOSED"},
		{Terms{Forbidden: Allow, Standard: Draft1996}, 403, "ALLOW"},
		{Terms{Forbidden: UseStale, Standard: Draft1996}, 403, "CLOSED"},
		{Terms{TooMany: Allow}, 429, "ALLOW"},
		{Terms{TooMany: Allow}, 408, "ALLOW"},
		{Terms{TooMany: Allow}, 425, "ALLOW"},
		{Terms{TooMany: Allow}, 503, "DENY"},
		{Terms{TooMany: Allow, Strict: true}, 429, "DENY"},
		{Terms{TooMany: Allow, Standard: Draft1996, Strict: true}, 408, "DENY"},
	} {
		s, need := runBy(t, c.terms, State{}, Exchange{Status: c.status})
		t.Run(fmt.Sprintf("%+v %d", c.terms, c.status), func(t *testing.T) { expect(t, s, need, c.want) })
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
					need := terms.Need(got, site, last.Add(-time.Microsecond))
					assert.Truef(t, need.Action == Judge, "strict %v, before 90 %% of life: %v", terms.Strict, need.Action)
					need = terms.Need(got, site, last)
					assert.Truef(t, need.Action == Refresh, "strict %v, at 90 %% of life: %v", terms.Strict, need.Action)
					assert.Equalf(t, Fetch, terms.Need(got, site, noon.Add(want)).Action, "strict %v, at the end of life", terms.Strict)
				}
			})
		}
	}
}

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

// fail lets each due fetch fail, from at until end, and returns the state.
func failUntil(terms Terms, s State, at, end time.Time) State {
	for at.Before(end) {
		if need := terms.Need(s, site, at); need.Action == Judge || need.Action == Wait {
			at = at.Add(time.Minute)
			continue
		}
		s, _ = terms.Next(s, site, Exchange{Status: 500}, at)
	}
	return s
}

func TestLifetime_3_2_StaleIfErrorKeepsRulesFor30Days(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name  string
		terms Terms
		keeps bool
	}{
		{"default", Terms{}, false},
		{"deny", Terms{StaleIfError: Deny}, false},
		{"allow is invalid here", Terms{StaleIfError: Allow}, false},
		{"stale", Terms{StaleIfError: UseStale}, true},
		{"stale, strict", Terms{StaleIfError: UseStale, Strict: true}, false},
		{"stale, draft1996", Terms{Standard: Draft1996, StaleIfError: UseStale}, true},
		{"stale, std1994", Terms{Standard: Std1994, StaleIfError: UseStale}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := runBy(t, c.terms, State{}, Exchange{Status: 200, Body: rules, Header: fields("Etag", `"v1"`)})
			at := noon.Add(8 * day)
			s, need := c.terms.Next(s, site, Exchange{Status: 500}, at)
			if !c.keeps {
				expect(t, s, need, "DENY")
				return
			}
			expect(t, s, need, "RULES")
			if need := c.terms.Need(s, site, s.Retry()); need.Action != Refresh || need.IfNoneMatch != `"v1"` {
				t.Errorf("a retry is due: %+v", need)
			}
			s = failUntil(c.terms, s, at, noon.Add(30*day))
			_, ok := s.Body()
			assert.Truef(t, ok && s.Fetched().Equal(noon) && s.Expires().Equal(noon.Add(30*day)), "within 30 days: %+v", s)
			if need := (Terms{}).Need(s, site, noon.Add(29*day)); need.Action == Judge || need.Action == Refresh {
				t.Errorf("by the zero Terms: %v", need.Action)
			}
			s = failUntil(c.terms, s, noon.Add(30*day), noon.Add(31*day))
			expect(t, s, c.terms.Need(s, site, noon.Add(31*day)), "DENY")
		})
	}
}

func TestLifetime_3_2_After30Days(t *testing.T) {
	const day = 24 * time.Hour
	whole, none := Exchange{Status: 200, Body: rules}, Exchange{Status: 500}
	for _, c := range []struct {
		name   string
		choice Choice
		strict bool
		first  Exchange
		want   string
	}{
		{"default", Default, false, whole, "DENY"},
		{"deny", Deny, false, whole, "DENY"},
		{"allow", Allow, false, whole, "ALLOW"},
		{"allow, never fetched", Allow, false, none, "ALLOW"},
		{"allow, strict", Allow, true, whole, "DENY"},
		{"stale", UseStale, false, whole, "RULES"},
		{"stale, never fetched", UseStale, false, none, "DENY"},
		{"stale, strict", UseStale, true, whole, "DENY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			terms := Terms{After30Days: c.choice, Strict: c.strict}
			s, _ := runBy(t, terms, State{}, c.first)
			s = failUntil(terms, s, noon.Add(time.Hour), noon.Add(29*day))
			_, ok := s.Body()
			assert.Truef(t, !ok && s.Failures() != 0, "before 30 days: %+v", s)
			first := s.FirstFailure()
			for _, at := range []time.Time{first.Add(30*day + 2*time.Hour), first.Add(33 * day)} {
				s = failUntil(terms, s, at.Add(-3*time.Hour), at)
				v, ok := s.Verdict()
				assert.Falsef(t, c.want == "DENY" && (!ok || v.Allowed) || c.want == "ALLOW" && !v.Allowed, "%v after the first failure: %+v", at.Sub(first), v)
				if digest, ok := s.Body(); c.want == "RULES" && (!ok || digest != s.digest) {
					t.Errorf("%v after the first failure: no rules", at.Sub(first))
				}
				need := terms.Need(s, site, at)
				assert.Truef(t, (need.Action == Judge || need.Action == Refresh) == (c.want != "DENY"), "%v after the first failure: %v", at.Sub(first), need.Action)
			}
			assert.Truef(t, s.FirstFailure().Equal(first), "the run of failures began %v, then %v", first, s.FirstFailure())
		})
	}
}

// Only the draft has this answer: all is forbidden, with a life and no retries.
func TestDraft1996_3_1_AccessRestrictions(t *testing.T) {
	draft := Terms{Standard: Draft1996}
	s, need := runBy(t, draft, State{}, Exchange{Status: 200, Body: rules})
	require.Equal(t, Judge, need.Action, need)
	at := noon.Add(7 * 24 * time.Hour)
	s, need = draft.Next(s, site, Exchange{Status: 401}, at)
	expect(t, s, need, "CLOSED")
	assert.Truef(t, s.Failures() == 0 && !s.hasBody && s.Expires().Equal(at.Add(7*24*time.Hour)), "%+v", s)
	s, need = draft.Next(s, site, Exchange{Status: 500}, at.Add(6*24*time.Hour+20*time.Hour))
	expect(t, s, need, "DENY")
}
