package sorted

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

func TestSorterSortsWithinItsLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{1, 100, 5000, 1 << 20} {
		dir := t.TempDir()
		s := New(dir, limit)
		var want []string
		for range 700 {
			b := make([]byte, rng.IntN(12))
			for i := range b {
				b[i] = byte(rng.IntN(3))
			}
			want = append(want, string(b))
			require.NoError(t, s.Add(b))
			require.LessOrEqualf(t, s.size, max(limit, 12+perHeld), "holds %d octets of %d", s.size, limit)
		}
		slices.Sort(want)
		for range 2 {
			var got []string
			for b, err := range s.All() {
				require.NoError(t, err)
				got = append(got, string(b))
			}
			require.Truef(t, slices.Equal(got, want), "limit %d: %d strings, out of order or not the same", limit, len(got))
		}
		for range s.All() {
			break
		}
		if len(s.runs) > 2*fan { // two levels are enough for so many
			t.Errorf("%d runs", len(s.runs))
		}
		require.NoError(t, s.Close())
		left, err := os.ReadDir(dir)
		assert.Truef(t, err == nil && len(left) <= 0, "left: %v %v", left, err)
	}
}

func TestSorter_ReportsDiskErrors(t *testing.T) {
	s := New(t.TempDir()+"/none", 1)
	var err error
	for range 3 {
		err = s.Add([]byte("x"))
	}
	assert.Error(t, err, "no error")
	for _, again := range s.All() {
		assert.Truef(t, again == err, "%v, want %v", again, err)
	}
}
