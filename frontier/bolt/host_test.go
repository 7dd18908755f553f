package bolt

import (
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

func TestState_RoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := layout.Clock{Began: time.Now()}
		time.Sleep(time.Hour)
		h := &host{
			id: 7, condition: frontier.Parked, width: 3, pace: 1500 * time.Millisecond, refused: 9,
			finished: 5<<32 | 77, reason: "status 503", notBefore: layout.After(before.Now(), 10*time.Minute),
		}
		c := h.state(before, before.Now())
		r := &retry{attempts: 4, reason: "status 500", url: "http://a.example/", due: layout.After(before.Now(), time.Minute)}
		rc := r.state(99, before, before.Now())
		time.Sleep(20 * time.Second)
		now := layout.Clock{Began: time.Now()}
		got := &host{id: 7}
		require.True(t, got.setState(c.Data, now), "not a state")
		want := *h
		want.notBefore = int64(9*time.Minute + 40*time.Second)
		if !reflect.DeepEqual(*got, want) {
			t.Fatalf("%+v, want %+v", *got, want)
		}
		wantRetry := *r
		wantRetry.due = int64(40 * time.Second)
		if gotRetry, ok := newRetry(rc.Data, now); !ok || *gotRetry != wantRetry {
			t.Fatalf("%+v, want %+v", gotRetry, wantRetry)
		}
	})
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
		assert.Falsef(t, back.setState(with[:n], c), "%d octets of %d are a state", n, len(with))
	}
}
