package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
)

// keepRules are about turns that are extended.
func keepRules() []rule {
	o := frontier.Options{LeaseLength: length}
	return []rule{
		{name: "keep: more tasks under the same lease, the others stay in flight", o: o, test: keep},
		{name: "keep: an empty queue gives no task, links found later do", o: o, test: keepEmpty},
		{name: "keep: the lease still expires, and is then stale", o: o, test: keepExpires},
		{name: "keep: what an earlier Finish of the turn has settled is not settled twice", o: o, test: keepTwice},
		{name: "width: kept for later leases, zero means one", o: o, test: width},
	}
}

func keep(s *stage) {
	s.add(s.links(pages("a", 6)...))
	t := s.turn(2)
	r := fetched(t, t.Tasks[1])
	r.Keep, r.Want, r.Found = true, 2, s.links("a/6", "b/0")
	f := s.finish(r)
	want(s, "more tasks", names(f.Tasks), "a/2 a/3")
	want(s, "links", f.Added, frontier.Added{New: 2})
	want(s, "InFlight", s.host("a").InFlight, 3)
	r = result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Gone}}
	r.Deferred = []frontier.Deferral{{Print: f.Tasks[1].Print, After: time.Minute}}
	r.Keep, r.Want = true, 100
	f = s.finish(r)
	want(s, "all the others", names(f.Tasks), "a/4 a/5 a/6")
	h := s.host("a")
	want(s, "InFlight, Deferred", [2]int64{h.InFlight, h.Deferred}, [2]int64{4, 1})
	r = result(t)
	r.Keep = true
	want(s, "none wanted", names(s.finish(r).Tasks), "")
	s.finish(fetched(t, f.Tasks[0]))
	h = s.host("a")
	want(s, "leased", h.Leased, false)
	want(s, "outcomes", h.Outcomes, frontier.Outcomes{frontier.Fetched: 2, frontier.Gone: 1})
	s.sleep(time.Second)
	c := s.claim(2, 10)
	want(s, "turns", len(c.Turns), 2)
	for _, t := range c.Turns {
		if t.Authority == s.auth("a") {
			want(s, "the rest", names(t.Tasks), "a/2 a/5 a/6")
		}
	}
}

func keepEmpty(s *stage) {
	s.add(s.links("a/0"))
	t := s.turn(3)
	r := fetched(t)
	r.Keep, r.Want = true, 3
	want(s, "tasks", names(s.finish(r).Tasks), "")
	want(s, "Leases", s.stats().Leases, 1)
	s.add(s.links("a/1"))
	r = result(t)
	r.Keep, r.Want = true, 3
	want(s, "tasks", names(s.finish(r).Tasks), "a/1")
	s.finish(result(t))
	want(s, "what is left", strings.Join(s.drain(0), " "), "a/1")
}

func keepTwice(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2"))
	t := s.turn(3)
	r := fetched(t, t.Tasks[0])
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Minute}}
	r.Keep = true
	for range 2 { // the second is a repeat, after an answer that was lost
		s.finish(r)
		h := s.host("a")
		want(s, "Fetched", h.Outcomes[frontier.Fetched], 1)
		want(s, "InFlight, Deferred", [2]int64{h.InFlight, h.Deferred}, [2]int64{1, 1})
	}
	s.finish(fetched(t, t.Tasks[2]))
	s.sleep(time.Minute)
	x := s.turn(3).Tasks
	want(s, "what is left", names(x), "a/1")
	want(s, "attempts", x[0].Attempts, 1)
}

func keepExpires(s *stage) {
	s.add(s.links("a/0", "a/1"))
	t := s.turn(1)
	r := fetched(t)
	r.Keep, r.Want = true, 1
	more := s.finish(r).Tasks
	want(s, "more", names(more), "a/1")
	s.sleep(length + time.Millisecond)
	r = fetched(t, more...)
	s.unchanged(func() { s.stale(r) }) // not the repeat of a Finish, although the token had one
	want(s, "what is left", strings.Join(s.drain(0), " "), "a/1")
}

func width(s *stage) {
	s.add(s.links("a/0"))
	for _, w := range []struct{ set, given int }{{4, 1}, {0, 4}, {1, 1}, {2, 1}, {0, 2}} {
		t := s.turn(1)
		want(s, "Width", t.Width, w.given)
		r := result(t)
		r.Host = &frontier.HostUpdate{Width: w.set}
		s.finish(r)
		if w.set == 2 {
			s.reopen()
		}
	}
}
