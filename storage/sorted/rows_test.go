package sorted

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRows_KeepTheOrderWithinAKey(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 1 << 20} {
		r := NewRows[int](t.TempDir(), limit)
		for i := range 600 {
			require.NoError(t, r.Add([]string{"b", "", "a\xff", "a"}[i%4], i))
		}
		var got []string
		last := map[string]int{}
		for row, err := range r.All() {
			require.NoError(t, err)
			if n := len(got); n == 0 || got[n-1] != row.Key {
				got = append(got, row.Key)
			} else {
				require.Equal(t, last[row.Key]+4, row.Value)
			}
			last[row.Key] = row.Value
		}
		require.Equal(t, []string{"", "a", "a\xff", "b"}, got)
		require.NoError(t, r.Close())
	}
}

func TestRows_ReportDiskErrors(t *testing.T) {
	t.Parallel()
	r := NewRows[string](t.TempDir()+"/none", 1)
	err := errors.Join(r.Add("a", "x"), r.Add("a", "y"))
	require.Error(t, err)
	for _, again := range r.All() {
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(again))
	}
}

func TestRows_RefuseAKeyWithAZeroByte(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, NewRows[int](t.TempDir(), 1).Add("a\x00b", 1), "zero byte")
}
