package bolt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"curtsy/frontier/bolt/layout"
)

// A queue gives what a plain slice gives, whatever the pattern of gaps, and in runs as long as there are neighbours.
func TestQueue_EqualsASlice(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var q runs
		var plain []layout.Ref
		next := layout.MakeRef(1, 0)
		gap := 1 + rnd.IntN(4)
		for range rnd.IntN(2000) {
			if rnd.IntN(10) < 2 && len(plain) > 0 {
				got, ok := q.back()
				if last := plain[len(plain)-1]; !ok || got != last {
					t.Fatalf("back %d, %v; want %d", got, ok, last)
				}
				q.popBack()
				plain = plain[:len(plain)-1]
				continue
			}
			if rnd.IntN(10) < 3 && len(plain) > 0 {
				got, ok := q.front()
				if !ok || got != plain[0] {
					t.Fatalf("front %d, %v; want %d", got, ok, plain[0])
				}
				q.pop()
				plain = plain[1:]
				continue
			}
			q.push(next)
			plain = append(plain, next)
			next += layout.Ref(1 + rnd.IntN(gap))
		}
		runs := 0
		for i, r := range plain {
			if i == 0 || r != plain[i-1]+1 || r.Place() == 0 {
				runs++
			}
		}
		if n := len(q.runs) - int(q.head); n != runs {
			t.Fatalf("%d runs, want %d", n, runs)
		}
		for _, want := range plain {
			got, _ := q.front()
			if got != want {
				t.Fatalf("front %d, want %d", got, want)
			}
			q.pop()
		}
		if _, ok := q.front(); ok || q.runs != nil {
			t.Fatal("an empty queue holds memory")
		}
	}
}

// What is used up does not pile up before the head.
func TestQueue_MemoryFollowsWhatIsInIt(t *testing.T) {
	var q runs
	for i := range 100_000 {
		q.push(layout.MakeRef(uint64(i+1), 0))
		if i >= 100 {
			q.pop()
		}
	}
	if cap(q.runs) > 400 {
		t.Fatalf("room for %d runs, and there are 100", cap(q.runs))
	}
}

// refs returns what is in q.
func (q *runs) refs() (all []layout.Ref) {
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
		var q runs
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
