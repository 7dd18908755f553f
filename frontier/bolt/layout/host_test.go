package layout

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

func TestState_RoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := Clock{Began: time.Now()}
		time.Sleep(time.Hour)
		h := HostState{
			Condition: frontier.Parked, Width: 3, Pace: 1500 * time.Millisecond, Refused: 9,
			Finished: 5<<32 | 77, Reason: "status 503", NotBefore: After(before.Now(), 10*time.Minute),
		}
		c := h.StateRecord(7, before, before.Now())
		r := Retry{Attempts: 4, Reason: "status 500", URL: "http://a.example/", Due: After(before.Now(), time.Minute)}
		rc := r.StateRecord(99, before, before.Now())
		time.Sleep(20 * time.Second)
		now := Clock{Began: time.Now()}
		h.NotBefore, r.Due = int64(9*time.Minute+40*time.Second), int64(40*time.Second)
		host, ok := ParseHostState(c.Data, now)
		require.True(t, ok, "not a state")
		assert.Equal(t, h, host)
		retry, ok := ParseRetry(rc.Data, now)
		require.True(t, ok, "not a retry")
		assert.Equal(t, r, retry)
	})
}

// A host without a hold is written as before there were holds.
func TestHost_StateWithoutHold(t *testing.T) {
	var c Clock
	h := HostState{Width: 3, Reason: "why", Refused: 7}
	plain := h.StateRecord(0, c, 0).Data
	back, ok := ParseHostState(plain, c)
	require.True(t, ok)
	assert.Equal(t, h, back)
	h.Hold = &Hold{Act: frontier.Drop, Until: 1<<63 - 1, Reason: "legal"}
	with := h.StateRecord(0, c, 0).Data
	if n := len(with) - len(plain); n != 3+len("legal") || !slices.Equal(with[:len(plain)], plain) {
		t.Errorf("%d octets more", n)
	}
	back, ok = ParseHostState(with, c)
	require.True(t, ok)
	assert.Equal(t, h, back)
	for n := len(plain) + 1; n < len(with); n++ {
		_, ok := ParseHostState(with[:n], c)
		assert.Falsef(t, ok, "%d octets of %d are a state", n, len(with))
	}
}
