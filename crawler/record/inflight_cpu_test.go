package record

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCPU_TokensAreLentOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := make(CPU, 2)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{t.Context(), over} { // a free one, though the end has come
			require.NoError(t, h.Acquire(ctx))
		}
		assert.ErrorIs(t, h.Acquire(over), context.Canceled, "a third one of two")
		var order []string
		done := make(chan error)
		go func() { done <- h.Acquire(t.Context()) }()
		synctest.Wait()
		order = append(order, "waits")
		h.Release()
		assert.NoError(t, <-done)
		order = append(order, "has it")
		if got := strings.Join(order, ", "); got != "waits, has it" || len(h) != 2 {
			t.Errorf("%s; %d lent", got, len(h))
		}
	})
}
