package bolt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// refs returns what is in q.
func (q *queue) refs() (all []layout.Ref) {
	for _, r := range q.runs[q.head:] {
		for i := range layout.Ref(r&0xff) + 1 {
			all = append(all, layout.Ref(r>>8)+i)
		}
	}
	return all
}

func TestQueue_RemoveTakesWhatIsThereAndNothingElse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var q queue
		var all []layout.Ref
		for record := range uint64(6) {
			for place := range layout.MaxPlaces {
				if rng.IntN(4) > 0 && rng.IntN(3) > 0 || place%40 > 30 {
					all = append(all, layout.MakeRef(record+1, place))
					q.push(all[len(all)-1])
				}
			}
		}
		for range rng.IntN(200) {
			q.pop()
			all = all[1:]
		}
		var gone []layout.Ref
		for range rng.IntN(300) {
			gone = append(gone, layout.MakeRef(rng.Uint64N(8), rng.IntN(layout.MaxPlaces)))
		}
		slices.Sort(gone)
		gone = slices.Compact(gone)
		taken := q.remove(gone)
		var want, left []layout.Ref
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
	var c layout.Clock
	h := &host{width: 3, reason: "why", refused: 7}
	plain := h.state(c, 0).Data
	var back host
	if !back.setState(plain, c) || back.hold != nil || back.reason != "why" {
		t.Errorf("%+v", back)
	}
	h.hold = &layout.Hold{Act: frontier.Drop, Until: 1<<63 - 1, Reason: "legal"}
	with := h.state(c, 0).Data
	if n := len(with) - len(plain); n != 3+len("legal") || !slices.Equal(with[:len(plain)], plain) {
		t.Errorf("%d octets more", n)
	}
	if !back.setState(with, c) || *back.hold != *h.hold {
		t.Errorf("%+v", back.hold)
	}
	for n := len(plain) + 1; n < len(with); n++ {
		if back.setState(with[:n], c) {
			t.Errorf("%d octets of %d are a state", n, len(with))
		}
	}
}
