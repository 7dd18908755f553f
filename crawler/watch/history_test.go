package watch

import (
	"testing"
	"time"

	"curtsy/storage"
)

// What a line of the ledger says of a page: whether it was visited, and whether it had changed.
func TestHistory_LinesBecomeVisits(t *testing.T) {
	first := visit{outcome: storage.OutcomeFetched, status: 200, html: true, payload: "aa"}
	for _, c := range []struct {
		name            string
		then            visit
		visits, changes int
	}{
		{"another payload", visit{outcome: storage.OutcomeFetched, status: 200, payload: "bb", change: storage.ChangeChanged}, 2, 1},
		{"a 304", visit{outcome: storage.OutcomeFetched, status: 304, change: storage.ChangeUnchanged}, 2, 0},
		{"the same payload", visit{outcome: storage.OutcomeFetched, status: 200, payload: "aa", change: storage.ChangeUnchanged}, 2, 0},
		{"gone", visit{outcome: storage.OutcomeGone, status: 404, change: storage.ChangeGone}, 2, 1},
		{"a redirect now", visit{outcome: storage.OutcomeRedirected, status: 302, change: storage.ChangeChanged}, 2, 1},
		{"failed", visit{outcome: storage.OutcomeFailed, status: 500}, 1, 0},
		{"disallowed", visit{outcome: storage.OutcomeDisallowed}, 1, 0},
		{"fresh, not asked", visit{outcome: storage.OutcomeFetched, change: storage.ChangeFresh}, 1, 0},
		{"tried again in its generation", visit{outcome: storage.OutcomeFetched, status: 200, payload: "bb"}, 2, 1},
	} {
		var p page
		at := time.Unix(1_800_000_000, 0)
		v := first
		v.at = at
		p.add(v)
		c.then.at = at.Add(day)
		p.add(c.then)
		if p.history.Visits != c.visits || p.history.Changes != c.changes || p.tried != c.then.at {
			t.Errorf("%s: %d visits, %d changes, tried %v", c.name, p.history.Visits, p.history.Changes, p.tried)
		}
	}
}

// A page that is gone stays unchanged while it is, and has changed when it is there again.
func TestHistory_GoneAgainIsNoChange(t *testing.T) {
	var p page
	at := time.Unix(1_800_000_000, 0)
	for i, v := range []visit{
		{outcome: storage.OutcomeGone, status: 404, payload: "x"}, {outcome: storage.OutcomeGone, status: 404, payload: "y"},
		{outcome: storage.OutcomeFailed, status: 500}, {outcome: storage.OutcomeGone, status: 404, payload: "z"},
		{outcome: storage.OutcomeFetched, status: 200, payload: "a", change: storage.ChangeNew},
	} {
		v.at = at.Add(time.Duration(i) * day)
		p.add(v)
	}
	if p.history.Visits != 4 || p.history.Changes != 1 {
		t.Errorf("%d visits, %d changes", p.history.Visits, p.history.Changes)
	}
}

// A 304 that does not say how long the answer holds leaves what was said; a new answer takes its place.
func TestHistory_HoldsIsOfTheLastAnswer(t *testing.T) {
	var p page
	at := time.Unix(1_800_000_000, 0)
	for i, c := range []struct {
		v    visit
		want time.Duration
	}{
		{visit{outcome: storage.OutcomeFetched, status: 200, holds: time.Hour}, time.Hour},
		{visit{outcome: storage.OutcomeFetched, status: 304, change: storage.ChangeUnchanged}, time.Hour},
		{visit{outcome: storage.OutcomeFetched, status: 304, change: storage.ChangeUnchanged, holds: time.Minute}, time.Minute},
		{visit{outcome: storage.OutcomeFetched, status: 200, change: storage.ChangeChanged}, 0},
	} {
		c.v.at = at.Add(time.Duration(i) * day)
		if p.add(c.v); p.holds != c.want {
			t.Errorf("visit %d: holds %v, want %v", i+1, p.holds, c.want)
		}
	}
}
