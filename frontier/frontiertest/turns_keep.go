package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// keepRules are about turns that are extended.
func keepRules() []stage.Rule {
	o := frontier.Options{LeaseLength: stage.LeaseLength}
	return []stage.Rule{
		{Name: "keep: more tasks under the same lease, the others stay in flight", Options: o, Test: keep},
		{Name: "keep: an empty queue gives no task, links found later do", Options: o, Test: keepEmpty},
		{Name: "keep: the lease still expires, and is then stale", Options: o, Test: keepExpires},
		{Name: "keep: what an earlier Finish of the turn has settled is not settled twice", Options: o, Test: keepTwice},
		{Name: "width: kept for later leases, zero means one", Options: o, Test: width},
	}
}

func keep(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 6)...))
	t := s.Turn(2)
	r := stage.Fetched(t, t.Tasks[1])
	r.Keep, r.Want, r.Found = true, 2, s.Links("a/6", "b/0")
	f := s.Finish(r)
	stage.Want(s, "more tasks", stage.Names(f.Tasks), "a/2 a/3")
	stage.Want(s, "links", f.Added, frontier.Added{New: 2})
	stage.Want(s, "InFlight", s.Host("a").InFlight, 3)
	r = stage.Result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Gone}}
	r.Deferred = []frontier.Deferral{{Print: f.Tasks[1].Print, After: time.Minute}}
	r.Keep, r.Want = true, 100
	f = s.Finish(r)
	stage.Want(s, "all the others", stage.Names(f.Tasks), "a/4 a/5 a/6")
	h := s.Host("a")
	stage.Want(s, "InFlight, Deferred", [2]int64{h.InFlight, h.Deferred}, [2]int64{4, 1})
	r = stage.Result(t)
	r.Keep = true
	stage.Want(s, "none wanted", stage.Names(s.Finish(r).Tasks), "")
	s.Finish(stage.Fetched(t, f.Tasks[0]))
	h = s.Host("a")
	stage.Want(s, "leased", h.Leased, false)
	stage.Want(s, "outcomes", h.Outcomes, frontier.Outcomes{frontier.Fetched: 2, frontier.Gone: 1})
	s.Sleep(time.Second)
	c := s.Claim(2, 10)
	stage.Want(s, "turns", len(c.Turns), 2)
	for _, t := range c.Turns {
		if t.Authority == s.Authority("a") {
			stage.Want(s, "the rest", stage.Names(t.Tasks), "a/2 a/5 a/6")
		}
	}
}

func keepEmpty(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	t := s.Turn(3)
	r := stage.Fetched(t)
	r.Keep, r.Want = true, 3
	stage.Want(s, "tasks", stage.Names(s.Finish(r).Tasks), "")
	stage.Want(s, "Leases", s.Stats().Leases, 1)
	s.Add(s.Links("a/1"))
	r = stage.Result(t)
	r.Keep, r.Want = true, 3
	stage.Want(s, "tasks", stage.Names(s.Finish(r).Tasks), "a/1")
	s.Finish(stage.Result(t))
	stage.Want(s, "what is left", strings.Join(s.Drain(0), " "), "a/1")
}

func keepTwice(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2"))
	t := s.Turn(3)
	r := stage.Fetched(t, t.Tasks[0])
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Minute}}
	r.Keep = true
	for range 2 { // the second is a repeat, after an answer that was lost
		s.Finish(r)
		h := s.Host("a")
		stage.Want(s, "Fetched", h.Outcomes[frontier.Fetched], 1)
		stage.Want(s, "InFlight, Deferred", [2]int64{h.InFlight, h.Deferred}, [2]int64{1, 1})
	}
	s.Finish(stage.Fetched(t, t.Tasks[2]))
	s.Sleep(time.Minute)
	x := s.Turn(3).Tasks
	stage.Want(s, "what is left", stage.Names(x), "a/1")
	stage.Want(s, "attempts", x[0].Attempts, 1)
}

func keepExpires(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(1)
	r := stage.Fetched(t)
	r.Keep, r.Want = true, 1
	more := s.Finish(r).Tasks
	stage.Want(s, "more", stage.Names(more), "a/1")
	s.Sleep(stage.LeaseLength + time.Millisecond)
	r = stage.Fetched(t, more...)
	unchanged(s, func() { s.Stale(r) }) // not the repeat of a Finish, although the token had one
	stage.Want(s, "what is left", strings.Join(s.Drain(0), " "), "a/1")
}

func width(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	for _, w := range []struct{ set, given int }{{4, 1}, {0, 4}, {1, 1}, {2, 1}, {0, 2}} {
		t := s.Turn(1)
		stage.Want(s, "Width", t.Width, w.given)
		r := stage.Result(t)
		r.Host = &frontier.HostUpdate{Width: w.set}
		s.Finish(r)
		if w.set == 2 {
			s.Reopen()
		}
	}
}
