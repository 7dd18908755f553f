package frontier_test

import (
	"testing"

	"curtsy/frontier"
)

// The numbers stand in databases and the names in ledgers and reports: neither may ever change.
func TestOutcomesAreStable(t *testing.T) {
	for _, v := range []struct {
		outcome frontier.Outcome
		number  uint8
		name    string
	}{
		{frontier.Fetched, 1, "fetched"},
		{frontier.Redirected, 2, "redirected"},
		{frontier.Disallowed, 3, "disallowed"},
		{frontier.Failed, 4, "failed"},
		{frontier.Gone, 5, "gone"},
		{frontier.Dropped, 6, "dropped"},
		{frontier.Held, 7, "held"},
	} {
		if uint8(v.outcome) != v.number || v.outcome.String() != v.name {
			t.Errorf("outcome %d is %q, want %d to be %q", v.outcome, v.outcome, v.number, v.name)
		}
	}
	if n := len(frontier.Outcomes{}); n != 8 {
		t.Errorf("Outcomes counts %d outcomes, want the seven and the unused zero", n-1)
	}
}

func TestUnknownOutcomesHaveAName(t *testing.T) {
	for _, o := range []frontier.Outcome{0, 8, 255} {
		if got := o.String(); got != "unknown outcome" {
			t.Errorf("outcome %d is %q, want %q", uint8(o), got, "unknown outcome")
		}
	}
}

func TestKindsAndConditionsAreStable(t *testing.T) {
	kinds := []frontier.Kind{frontier.KindSeed, frontier.KindLink, frontier.KindRedirect, frontier.KindEmbed, frontier.KindSitemap, frontier.KindMap, frontier.KindScript}
	for i, k := range kinds {
		if int(k) != i+1 {
			t.Errorf("kind %d of the list is number %d, want %d", i, k, i+1)
		}
	}
	conditions := []frontier.Condition{frontier.Open, frontier.Parked, frontier.Retired, frontier.Refused}
	for i, c := range conditions {
		if int(c) != i {
			t.Errorf("condition %d of the list is number %d, want %d", i, c, i)
		}
	}
}
