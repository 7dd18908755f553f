package inquiry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRule26_WaitedAsksAgainUntilThereIsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, waits, asked := time.Now(), []time.Duration{time.Minute, time.Second, 0, time.Hour}, 0
		err := waited(t.Context(), func() (time.Duration, error) { asked++; return waits[asked-1], nil })
		if err != nil || asked != 3 || time.Since(start) != time.Minute+time.Second {
			t.Errorf("asked %d times in %v, %v", asked, time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = waited(ctx, func() (time.Duration, error) { return time.Hour, nil })
		assert.ErrorIs(t, err, context.DeadlineExceeded, "a wait outlives its context")
		broken := errors.New("broken")
		err = waited(t.Context(), func() (time.Duration, error) { return time.Hour, broken })
		assert.ErrorIsf(t, err, broken, "%v, want %v", err, broken)
	})
}
