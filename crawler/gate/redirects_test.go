package gate

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/robots"
)

func TestRedirects_AlternateWithOwnTurns(t *testing.T) {
	h := NewRedirects()
	there := parse(t, "http://there.test/robots.txt")
	wants := make([]Request, 3)
	for i := range wants {
		wants[i] = Request{From: parse(t, fmt.Sprintf("http://h%d.test/", i)).Authority(), URL: there}
		h.Add(wants[i])
		h.Add(wants[i]) // a host has one
	}
	h.Deliver(wants[1].From, Answer{Exchange: robots.Exchange{}}) // another turn was faster
	for i, host := range []string{"h0.test", "", "h2.test", "", "", ""} {
		w, ok := h.Next(there.Authority())
		if ok != (host != "") || ok && w.From.Host() != host {
			t.Fatalf("turn %d serves %v (%v), want %q", i, w.From, ok, host)
		}
		if ok {
			h.Add(w) // it is under way
			h.Deliver(w.From, Answer{Exchange: robots.Exchange{}})
			h.Add(w) // it is there
		}
	}
	if len(h.queues) != 0 || len(h.waiting) != 0 {
		t.Errorf("left over: %v, %v", h.queues, h.waiting)
	}
}

func TestRedirects_AnswersAreBoundedAndCollectedOnce(t *testing.T) {
	h := NewRedirects()
	a, b := parse(t, "http://a.test/"), parse(t, "http://b.test/")
	h.Deliver(a.Authority(), Answer{Exchange: robots.Exchange{URL: "http://b.test/x", Body: make([]byte, 10)}})
	h.Deliver(a.Authority(), Answer{Exchange: robots.Exchange{URL: "http://b.test/y", Body: make([]byte, 30)}})
	assert.Equal(t, 30, h.octets, "octets")
	if _, ok := h.Collect(b.Authority(), "http://b.test/y"); ok {
		t.Error("another host's")
	}
	if ex, ok := h.Collect(a.Authority(), "http://b.test/y"); !ok || len(ex.Body) != 30 || h.octets != 0 {
		t.Errorf("%v, %d octets", ok, h.octets)
	}
	if _, ok := h.Collect(a.Authority(), "http://b.test/y"); ok {
		t.Error("collected twice")
	}
	h.Deliver(a.Authority(), Answer{Exchange: robots.Exchange{URL: "http://b.test/x", Body: make([]byte, maxAnswers)}})
	h.Add(Request{From: b.Authority(), URL: a})
	if _, ok := h.Next(a.Authority()); ok || h.HasRoom() {
		t.Error("no room for another")
	}
	if _, ok := h.Collect(a.Authority(), "http://b.test/old"); ok || !h.HasRoom() || h.octets != 0 {
		t.Error("an obsolete response was returned, or is still held")
	}
	if _, ok := h.Next(a.Authority()); !ok {
		t.Error("now there is room")
	}
}

func TestRedirects_StaleAnswersMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewRedirects()
		host := func(i int) Request { return Request{From: parse(t, fmt.Sprintf("http://h%d.test/", i)).Authority()} }
		n := 0
		for ; h.HasRoom(); n++ {
			h.Deliver(host(n).From, Answer{Exchange: robots.Exchange{Body: make([]byte, robots.MaxBody)}})
		}
		time.Sleep(staleAnswer)
		require.False(t, h.HasRoom(), "room too early")
		time.Sleep(time.Nanosecond)
		if !h.HasRoom() || h.octets != 0 || len(h.answers) != 0 {
			t.Errorf("%d octets of %d hosts are left", h.octets, len(h.answers))
		}
		if _, ok := h.Collect(host(0).From, ""); ok || h.octets != 0 {
			t.Errorf("a dropped answer was collected; %d bytes", h.octets)
		}
	})
}

func TestRedirects_AnsweredRequestIsNotServed(t *testing.T) {
	h := NewRedirects()
	from := parse(t, "http://a.test/").Authority()
	first := Request{From: from, URL: parse(t, "http://b.test/robots.txt")}
	first.Need.URL = first.URL.String()
	later := Request{From: from, URL: parse(t, "http://c.test/robots.txt")}
	later.Need.URL = later.URL.String()
	h.Add(first)
	h.Deliver(from, Answer{Exchange: robots.Exchange{URL: first.Need.URL}})
	if _, ok := h.Collect(from, first.Need.URL); !ok {
		t.Fatal("the answer is missing")
	}
	h.Add(later)
	if w, ok := h.Next(first.URL.Authority()); ok {
		t.Errorf("%s is requested again", w.URL)
	}
	if w, ok := h.Next(later.URL.Authority()); !ok || w.URL != later.URL {
		t.Error("the current request is not served")
	}
}
