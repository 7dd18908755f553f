package frontiertest

import (
	"time"

	"curtsy/frontier"
)

// recordRules are about how long a task is a suspect, and when it is durable that it is in flight.
func recordRules() []rule {
	return []rule{
		{name: "suspect: one that is deferred is one no more", crash: true, test: suspectDeferred},
		{name: "suspect: one that is returned untried, or whose lease expires, stays one", crash: true,
			o: frontier.Options{LeaseLength: length}, test: suspectReturned},
		{name: "suspect: one that is closed is counted no more, and its retry is innocent", crash: true, test: suspectClosed},
		{name: "suspect: stays one over a clean stop, with no stop counted", crash: true, test: suspectKept},
		{name: "suspect: after an unclean stop a turn is given only when its record is durable", crash: true, test: suspectRecord},
		{name: "suspect: the record of a turn with one is durable when it is given, however late", crash: true, test: suspectGuard},
		{name: "suspect: a lease is recorded within GroupDelay, without a result", crash: true, test: suspectDelay},
	}
}

func suspectDeferred(s *stage) {
	s.add(s.links("a/0", "a/1", "b/0"))
	s.accuse(2)
	t := s.turn(1)
	for t.Tasks[0].Stops == 0 {
		s.finish(fetched(t))
		t = s.turn(1)
	}
	want(s, "Suspects", s.stats().Suspects, 2)
	r := result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute, Reason: "status 500"}}
	s.finish(r)
	want(s, "Suspects", s.stats().Suspects, 1)
	for range 2 {
		s.sleep(time.Minute)
		other := s.turn(1)
		if other.Tasks[0].Stops > 0 {
			s.finish(fetched(other))
			other = s.turn(1)
		}
		want(s, "the deferred one", stops(other.Tasks), names(t.Tasks)+":0")
		want(s, "attempts", other.Tasks[0].Attempts, 1)
		s.finish(result(other))
		s.reopen()
	}
}

func suspectReturned(s *stage) {
	s.add(s.links("a/0"))
	s.turn(1)
	s.fall()
	t := s.turn(1)
	want(s, "the suspect", stops(t.Tasks), "a/0:1")
	s.finish(result(t))
	want(s, "returned", stops(s.turn(1).Tasks), "a/0:1")
	s.sleep(length + time.Millisecond)
	want(s, "expired", stops(s.turn(1).Tasks), "a/0:1")
	want(s, "Suspects", s.stats().Suspects, 1)
}

func suspectClosed(s *stage) {
	s.add(s.links("a/0"))
	s.turn(1)
	s.fall()
	t := s.turn(1)
	r := result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed}}
	s.finish(r)
	want(s, "Suspects", s.stats().Suspects, 0)
	s.retry(frontier.Retrial{Outcome: frontier.Failed})
	want(s, "Suspects", s.stats().Suspects, 0)
	s.add(s.links("a/1"))
	want(s, "tasks", stops(s.turn(9).Tasks), "a/0:0 a/1:0")
}

func suspectKept(s *stage) {
	s.add(s.links("a/0"))
	s.turn(1)
	s.fall()
	for range 4 {
		want(s, "the suspect", stops(s.turn(1).Tasks), "a/0:1")
		s.reopen()
		want(s, "Suspects", s.stats().Suspects, 1)
	}
}

// suspectRecord crashes at the very instant at which a turn is given.
func suspectRecord(s *stage) {
	s.add(s.links("a/0", "a/1", "b/0"))
	s.crash()
	want(s, "Suspects", s.stats().Suspects, 0)
	s.claim(2, 1)
	s.crash()
	want(s, "Suspects", s.stats().Suspects, 2)
	want(s, "the innocent", stops(s.turn(1).Tasks), "a/1:0")
}

// suspectGuard first has so many results applied that other turns are given without a record.
func suspectGuard(s *stage) {
	s.add(s.links("a/0"))
	s.turn(1)
	s.fall()
	s.add(s.links("b/0"))
	for range frontier.GroupPages + 10 {
		t := s.turn(9)
		if names(t.Tasks) == "b/0" || len(t.Tasks) == 0 {
			s.finish(result(t))
			continue
		}
		want(s, "the suspect", stops(t.Tasks), "a/0:1")
		s.finish(result(t))
	}
	s.add(s.links("c/0")) // a commit whose record is empty
	want(s, "the suspect", stops(s.only("a/0").Tasks), "a/0:1")
	s.crash()
	want(s, "the suspect", stops(s.only("a/0").Tasks), "a/0:2")
}

// only takes turns until one with that task comes, and fetches the others.
func (s *stage) only(u string) frontier.Turn {
	s.Helper()
	for {
		t := s.turn(1)
		if names(t.Tasks) == u {
			return t
		}
		s.finish(fetched(t))
	}
}

func suspectDelay(s *stage) {
	s.add(s.links("a/0", "a/1"))
	s.sleep(2 * frontier.GroupDelay) // no commit is on its way for another reason
	s.turn(1)
	s.fall()
	want(s, "Suspects", s.stats().Suspects, 1)
}
