package crawler

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/robots"
)

func TestWantsAreServedInTurnsWithTheHostsOwnWork(t *testing.T) {
	h := newHops()
	there := parse(t, "http://there.test/robots.txt")
	wants := make([]want, 3)
	for i := range wants {
		wants[i] = want{from: parse(t, fmt.Sprintf("http://h%d.test/", i)).Authority(), url: there}
		h.want(wants[i])
		h.want(wants[i]) // a host has one
	}
	h.bring(wants[1].from, archived{Exchange: robots.Exchange{}}) // somebody else was faster
	for i, host := range []string{"h0.test", "", "h2.test", "", "", ""} {
		w, ok := h.serve(there.Authority())
		if ok != (host != "") || ok && w.from.Host() != host {
			t.Fatalf("turn %d serves %v (%v), want %q", i, w.from, ok, host)
		}
		if ok {
			h.want(w) // it is under way
			h.bring(w.from, archived{Exchange: robots.Exchange{}})
			h.want(w) // it is there
		}
	}
	if len(h.wanted) != 0 || len(h.waiting) != 0 {
		t.Errorf("left over: %v, %v", h.wanted, h.waiting)
	}
}

func TestWhatHopsBroughtIsBoundedAndCollectedOnce(t *testing.T) {
	h := newHops()
	a, b := parse(t, "http://a.test/"), parse(t, "http://b.test/")
	h.bring(a.Authority(), archived{Exchange: robots.Exchange{URL: "http://b.test/x", Body: make([]byte, 10)}})
	h.bring(a.Authority(), archived{Exchange: robots.Exchange{URL: "http://b.test/y", Body: make([]byte, 30)}})
	if h.octets != 30 {
		t.Errorf("%d octets", h.octets)
	}
	if _, ok := h.collect(b.Authority(), "http://b.test/y"); ok {
		t.Error("another host's")
	}
	if ex, ok := h.collect(a.Authority(), "http://b.test/y"); !ok || len(ex.Body) != 30 || h.octets != 0 {
		t.Errorf("%v, %d octets", ok, h.octets)
	}
	if _, ok := h.collect(a.Authority(), "http://b.test/y"); ok {
		t.Error("collected twice")
	}
	h.bring(a.Authority(), archived{Exchange: robots.Exchange{URL: "http://b.test/x", Body: make([]byte, maxBrought)}})
	h.want(want{from: b.Authority(), url: a})
	if _, ok := h.serve(a.Authority()); ok || h.room() {
		t.Error("there is no room for another")
	}
	if _, ok := h.collect(a.Authority(), "http://b.test/old"); ok || !h.room() || h.octets != 0 {
		t.Error("what is not needed any more is not given, and not kept")
	}
	if _, ok := h.serve(a.Authority()); !ok {
		t.Error("now there is room")
	}
}

// What was brought for hosts that have no further turn does not shut out all others for good.
func TestWhatNobodyCollectsMakesRoomInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHops()
		host := func(i int) want { return want{from: parse(t, fmt.Sprintf("http://h%d.test/", i)).Authority()} }
		n := 0
		for ; h.room(); n++ {
			h.bring(host(n).from, archived{Exchange: robots.Exchange{Body: make([]byte, robots.MaxBody)}})
		}
		time.Sleep(longBrought)
		if h.room() {
			t.Fatal("room too early")
		}
		time.Sleep(time.Nanosecond)
		if !h.room() || h.octets != 0 || len(h.brought) != 0 {
			t.Errorf("%d octets of %d hosts are left", h.octets, len(h.brought))
		}
		if _, ok := h.collect(host(0).from, ""); ok || h.octets != 0 {
			t.Errorf("what is gone was collected; %d octets", h.octets)
		}
	})
}
