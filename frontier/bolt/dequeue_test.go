package bolt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"curtsy/frontier"
)

// refs returns what is in q.
func (q *queue) refs() (all []ref) {
	for _, r := range q.runs[q.head:] {
		for i := range ref(r&0xff) + 1 {
			all = append(all, ref(r>>8)+i)
		}
	}
	return all
}

func TestQueue_RemoveTakesWhatIsThereAndNothingElse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var q queue
		var all []ref
		for record := range uint64(6) {
			for place := range maxPlaces {
				if rng.IntN(4) > 0 && rng.IntN(3) > 0 || place%40 > 30 {
					all = append(all, makeRef(record+1, place))
					q.push(all[len(all)-1])
				}
			}
		}
		for range rng.IntN(200) {
			q.pop()
			all = all[1:]
		}
		var gone []ref
		for range rng.IntN(300) {
			gone = append(gone, makeRef(rng.Uint64N(8), rng.IntN(maxPlaces)))
		}
		slices.Sort(gone)
		gone = slices.Compact(gone)
		taken := q.remove(gone)
		var want, left []ref
		for _, r := range all {
			if slices.Contains(gone, r) {
				want = append(want, r)
			} else {
				left = append(left, r)
			}
		}
		if !slices.Equal(taken, want) || !slices.Equal(q.refs(), left) {
			t.Fatalf("taken %v, want %v; left %v, want %v", taken, want, q.refs(), left)
		}
	}
}

// A host without a hold is written as it was before there were holds, and such a cell reads as none.
func TestHost_AStateCellWithoutAHoldHasNone(t *testing.T) {
	var c clock
	h := &host{width: 3, reason: "why", refused: 7}
	plain := h.state(c, 0).data
	var back host
	if !back.parseState(plain, c) || back.hold != nil || back.reason != "why" {
		t.Errorf("%+v", back)
	}
	h.hold = &hold{act: frontier.Drop, until: 1<<63 - 1, reason: "legal"}
	with := h.state(c, 0).data
	if n := len(with) - len(plain); n != 3+len("legal") || !slices.Equal(with[:len(plain)], plain) {
		t.Errorf("%d octets more", n)
	}
	if !back.parseState(with, c) || *back.hold != *h.hold {
		t.Errorf("%+v", back.hold)
	}
	for n := len(plain) + 1; n < len(with); n++ {
		if back.parseState(with[:n], c) {
			t.Errorf("%d octets of %d are a state", n, len(with))
		}
	}
}
