package budget

import (
	"math/rand/v2"
	"testing"
)

// In any order of Book and Give, no group exceeds its cap, and Book refuses no other pages.
func TestRule15_GroupsNeverPassTheCap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c"}
	for round := range 200 {
		most := 1 + rng.Int64N(5)
		pages, out := map[string]int64{"a": rng.Int64N(7)}, map[string]int64{}
		known := map[string]int64{"a": pages["a"]}
		g := NewGroups(most, known)
		for range 80 {
			name := names[rng.IntN(3)]
			if rng.IntN(2) == 0 && out[name] > 0 {
				n := rng.Int64N(2)
				g.Give(name, n)
				out[name]--
				pages[name] += n
				continue
			}
			booked, full := g.Book(name)
			if wantFull := pages[name] >= most; full != wantFull || g.Full(name) != wantFull || g.Pages(name) != pages[name] {
				t.Fatalf("round %d: %s full %v with %d of %d", round, name, full, pages[name], most)
			}
			if want := pages[name]+out[name] < most; booked != want {
				t.Fatalf("round %d: %s booked %v with %d and %d out of %d", round, name, booked, pages[name], out[name], most)
			}
			if booked {
				out[name]++
			}
		}
	}
	none := NewGroups(0, nil)
	if booked, full := none.Book("a"); !booked || full || none.Full("a") || none.Pages("a") != 0 {
		t.Error("no groups have a cap")
	}
	none.Give("a", 1)
	none.Limit(1)
	none.Add(map[string]int64{"a": 1})
	if booked, full := none.Book("a"); booked || !full {
		t.Error("a cap that is set later holds for the pages before it")
	}
}
