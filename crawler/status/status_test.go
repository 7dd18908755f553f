package status

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

func TestCached_LifetimeFollowsTheCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, n := newCached[int](), 0
		ask := func() int {
			answer, err := l.get(t.Context(), func(context.Context) (int, error) {
				n++
				time.Sleep(100 * time.Millisecond)
				return n, nil
			})
			require.NoError(t, err)
			return answer
		}
		for range 2 {
			assert.Equal(t, 1, ask(), "asked twice at once: found twice")
		}
		if time.Sleep(4900 * time.Millisecond); ask() != 1 {
			t.Error("found again before fifty times its cost has passed")
		}
		if time.Sleep(100 * time.Millisecond); ask() != 2 {
			t.Error("an old answer")
		}
		l.forget()
		assert.Equal(t, 3, ask(), "after an operator's change")
	})
}
