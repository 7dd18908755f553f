package watch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/sorted"
)

func TestHistory_LinesBecomeVisits(t *testing.T) {
	first := visit{Outcome: storage.OutcomeFetched, Status: 200, HTML: true, Payload: "aa"}
	for _, c := range []struct {
		name            string
		then            visit
		visits, changes int
	}{
		{"another payload", visit{Outcome: storage.OutcomeFetched, Status: 200, Payload: "bb", Change: storage.ChangeChanged}, 2, 1},
		{"a 304", visit{Outcome: storage.OutcomeFetched, Status: 304, Change: storage.ChangeUnchanged}, 2, 0},
		{"the same payload", visit{Outcome: storage.OutcomeFetched, Status: 200, Payload: "aa", Change: storage.ChangeUnchanged}, 2, 0},
		{"gone", visit{Outcome: storage.OutcomeGone, Status: 404, Change: storage.ChangeGone}, 2, 1},
		{"a redirect now", visit{Outcome: storage.OutcomeRedirected, Status: 302, Change: storage.ChangeChanged}, 2, 1},
		{"failed", visit{Outcome: storage.OutcomeFailed, Status: 500}, 1, 0},
		{"disallowed", visit{Outcome: storage.OutcomeDisallowed}, 1, 0},
		{"fresh, not asked", visit{Outcome: storage.OutcomeFetched, Change: storage.ChangeFresh}, 1, 0},
		{"tried again in its generation", visit{Outcome: storage.OutcomeFetched, Status: 200, Payload: "bb"}, 2, 1},
	} {
		var p page
		at := time.Unix(1_800_000_000, 0)
		v := first
		v.At = at
		p.add(v)
		c.then.At = at.Add(day)
		p.add(c.then)
		if p.history.Visits != c.visits || p.history.Changes != c.changes || p.tried != c.then.At {
			t.Errorf("%s: %d visits, %d changes, tried %v", c.name, p.history.Visits, p.history.Changes, p.tried)
		}
	}
}

func TestHint_YearsWithoutJSON(t *testing.T) {
	u, err := canon.Parse("http://h.test/")
	require.NoError(t, err)
	rows := sorted.NewRows[visit](t.TempDir(), 1<<20)
	defer rows.Close()
	for _, year := range []int{-1, 10_000} {
		require.NoError(t, addHint(rows, u, time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), "daily"))
	}
	for row, err := range rows.All() {
		require.NoError(t, err)
		require.Equal(t, visit{Frequency: "daily"}, row.Value)
	}
}

func TestHistory_GoneAgainIsNoChange(t *testing.T) {
	var p page
	at := time.Unix(1_800_000_000, 0)
	for i, v := range []visit{
		{Outcome: storage.OutcomeGone, Status: 404, Payload: "x"}, {Outcome: storage.OutcomeGone, Status: 404, Payload: "y"},
		{Outcome: storage.OutcomeFailed, Status: 500}, {Outcome: storage.OutcomeGone, Status: 404, Payload: "z"},
		{Outcome: storage.OutcomeFetched, Status: 200, Payload: "a", Change: storage.ChangeNew},
	} {
		v.At = at.Add(time.Duration(i) * day)
		p.add(v)
	}
	assert.Truef(t, p.history.Visits == 4 && p.history.Changes == 1, "%d visits, %d changes", p.history.Visits, p.history.Changes)
}

// A 304 without a lifetime keeps the old one; a new response replaces it.
func TestHistory_HoldsIsOfTheLastAnswer(t *testing.T) {
	var p page
	at := time.Unix(1_800_000_000, 0)
	for i, c := range []struct {
		v    visit
		want time.Duration
	}{
		{visit{Outcome: storage.OutcomeFetched, Status: 200, Holds: time.Hour}, time.Hour},
		{visit{Outcome: storage.OutcomeFetched, Status: 304, Change: storage.ChangeUnchanged}, time.Hour},
		{visit{Outcome: storage.OutcomeFetched, Status: 304, Change: storage.ChangeUnchanged, Holds: time.Minute}, time.Minute},
		{visit{Outcome: storage.OutcomeFetched, Status: 200, Change: storage.ChangeChanged}, 0},
	} {
		c.v.At = at.Add(time.Duration(i) * day)
		if p.add(c.v); p.holds != c.want {
			t.Errorf("visit %d: holds %v, want %v", i+1, p.holds, c.want)
		}
	}
}
