package cdxj

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMemoryOfAPayload(t *testing.T) {
	const n = 1_000_000
	before := heapOctets()
	var tab table
	r := rand.New(rand.NewPCG(1, 2))
	most := 0.0
	for i := range n {
		tab.add(r.Uint64(), int64(i))
		if i >= 50_000 {
			most = max(most, float64(tab.octets())/float64(tab.n))
		}
	}
	measured := float64(int64(heapOctets())-int64(before)) / n // earlier data may be freed now
	runtime.KeepAlive(&tab)
	t.Logf("%d payloads: %.1f octets each in the table, %.1f on the heap, %.1f at most on the way", n, float64(tab.octets())/n, measured, most)
	assert.Truef(t, most <= 16 && measured <= 16, "%.1f octets for a payload on the heap, %.1f at most on the way: more than 16", measured, most)
}

func heapOctets() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestTableEqualsMap(t *testing.T) {
	for _, bits := range []int{64, 40, 12, 1} { // how much of a hash differs
		var tab table
		model := map[uint64][]int64{}
		r := rand.New(rand.NewPCG(3, uint64(bits)))
		for i := range 3000 {
			h := r.Uint64() << (64 - bits)
			require.Truef(t, tab.add(h, int64(i)), "place %d was refused", i)
			model[h] = append(model[h], int64(i))
		}
		others := 0
		for h, want := range model {
			var got []int64
			tab.find(h, func(p int64) { got = append(got, p) })
			for _, p := range want {
				require.Containsf(t, got, p, "%d bits: place %d of %x is not found", bits, p, h)
			}
			others += len(got) - len(want)
		}
		assert.Falsef(t, bits == 64 && others > 3, "%d places of other hashes were offered", others)
	}
}

func TestTable_RejectsLargePlaces(t *testing.T) {
	var tab table
	for place, want := range map[int64]bool{0: true, maxPlace: true, maxPlace + 1: false, -1: false} {
		assert.Equal(t, want, tab.add(^uint64(0), place), place)
	}
	var got []int64
	tab.find(^uint64(0), func(p int64) { got = append(got, p) })
	if slices.Sort(got); !slices.Equal(got, []int64{0, maxPlace}) {
		t.Errorf("found %v", got)
	}
}

func (t *table) octets() int {
	n := 0
	for _, s := range t.shard {
		n += 8 * cap(s)
	}
	return n
}
