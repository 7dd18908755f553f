package ndjson

import (
	"encoding/json"
	"testing"

	"curtsy/frontier"
)

// Every word of the contract has a name in an export: one without would make the frontier that has it impossible to move.
func TestWords_EveryWordOfTheContractHasAName(t *testing.T) {
	for k := frontier.KindSeed; k <= frontier.KindScript; k++ {
		there, back := kind(k), kind(0)
		roundTrip(t, there, &back)
		if back != there {
			t.Errorf("kind %d comes back as %d", there, back)
		}
	}
	for c := frontier.Open; c <= frontier.Refused; c++ {
		there, back := condition(c), condition(99)
		roundTrip(t, there, &back)
		if back != there {
			t.Errorf("condition %d comes back as %d", there, back)
		}
	}
	for _, a := range []frontier.Act{frontier.Park, frontier.Drop} {
		there, back := act(a), act(0)
		roundTrip(t, there, &back)
		if back != there {
			t.Errorf("act %d comes back as %d", there, back)
		}
	}
	for o := range len(frontier.Outcomes{}) {
		there, back := state{outcome: frontier.Outcome(o)}, state{}
		roundTrip(t, there, &back)
		if back != there {
			t.Errorf("outcome %d comes back as %+v", o, back)
		}
	}
}

func roundTrip(t *testing.T, there, back any) {
	t.Helper()
	b, err := json.Marshal(there)
	if err == nil {
		err = json.Unmarshal(b, back)
	}
	if err != nil {
		t.Errorf("%v: %v", there, err)
	}
}
