package bolt

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

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
		if !got.setState(c.Data, now) {
			t.Fatal("not a state")
		}
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
