package frontiertest

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// recordRules are about how long a task is a suspect, and when it is durable that it is in flight.
func recordRules() []stage.Rule {
	return []stage.Rule{
		{Name: "suspect: one that is deferred is one no more", Crash: true, Test: suspectDeferred},
		{Name: "suspect: one that is returned untried, or whose lease expires, stays one", Crash: true,
			Options: frontier.Options{LeaseLength: stage.LeaseLength}, Test: suspectReturned},
		{Name: "suspect: one that is closed is counted no more, and its retry is innocent", Crash: true, Test: suspectClosed},
		{Name: "suspect: stays one over a clean stop, with no stop counted", Crash: true, Test: suspectKept},
		{Name: "suspect: after an unclean stop a turn is given only when its record is durable", Crash: true, Test: suspectRecord},
		{Name: "suspect: the record of a turn with one is durable when it is given, however late", Crash: true, Test: suspectGuard},
		{Name: "suspect: a lease is recorded within GroupDelay, without a result", Crash: true, Test: suspectDelay},
	}
}

func suspectDeferred(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "b/0"))
	accuse(s, 2)
	t := s.Turn(1)
	for t.Tasks[0].Stops == 0 {
		s.Finish(stage.Fetched(t))
		t = s.Turn(1)
	}
	stage.Want(s, "Suspects", s.Stats().Suspects, 2)
	r := stage.Result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute, Reason: "status 500"}}
	s.Finish(r)
	stage.Want(s, "Suspects", s.Stats().Suspects, 1)
	for range 2 {
		s.Sleep(time.Minute)
		other := s.Turn(1)
		if other.Tasks[0].Stops > 0 {
			s.Finish(stage.Fetched(other))
			other = s.Turn(1)
		}
		stage.Want(s, "the deferred one", stops(other.Tasks), stage.Names(t.Tasks)+":0")
		stage.Want(s, "attempts", other.Tasks[0].Attempts, 1)
		s.Finish(stage.Result(other))
		s.Reopen()
	}
}

func suspectReturned(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Turn(1)
	fall(s)
	t := s.Turn(1)
	stage.Want(s, "the suspect", stops(t.Tasks), "a/0:1")
	s.Finish(stage.Result(t))
	stage.Want(s, "returned", stops(s.Turn(1).Tasks), "a/0:1")
	s.Sleep(stage.LeaseLength + time.Millisecond)
	stage.Want(s, "expired", stops(s.Turn(1).Tasks), "a/0:1")
	stage.Want(s, "Suspects", s.Stats().Suspects, 1)
}

func suspectClosed(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Turn(1)
	fall(s)
	t := s.Turn(1)
	r := stage.Result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed}}
	s.Finish(r)
	stage.Want(s, "Suspects", s.Stats().Suspects, 0)
	s.Retry(frontier.Retrial{Outcome: frontier.Failed})
	stage.Want(s, "Suspects", s.Stats().Suspects, 0)
	s.Add(s.Links("a/1"))
	stage.Want(s, "tasks", stops(s.Turn(9).Tasks), "a/0:0 a/1:0")
}

func suspectKept(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Turn(1)
	fall(s)
	for range 4 {
		stage.Want(s, "the suspect", stops(s.Turn(1).Tasks), "a/0:1")
		s.Reopen()
		stage.Want(s, "Suspects", s.Stats().Suspects, 1)
	}
}

// suspectRecord crashes at the very instant at which a turn is given.
func suspectRecord(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "b/0"))
	s.Crash()
	stage.Want(s, "Suspects", s.Stats().Suspects, 0)
	s.Claim(2, 1)
	s.Crash()
	stage.Want(s, "Suspects", s.Stats().Suspects, 2)
	stage.Want(s, "the innocent", stops(s.Turn(1).Tasks), "a/1:0")
}

// suspectGuard first has so many results applied that other turns are given without a record.
func suspectGuard(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Turn(1)
	fall(s)
	s.Add(s.Links("b/0"))
	for range frontier.GroupPages + 10 {
		t := s.Turn(9)
		if stage.Names(t.Tasks) == "b/0" || len(t.Tasks) == 0 {
			s.Finish(stage.Result(t))
			continue
		}
		stage.Want(s, "the suspect", stops(t.Tasks), "a/0:1")
		s.Finish(stage.Result(t))
	}
	s.Add(s.Links("c/0")) // a commit whose record is empty
	stage.Want(s, "the suspect", stops(s.Only("a/0").Tasks), "a/0:1")
	s.Crash()
	stage.Want(s, "the suspect", stops(s.Only("a/0").Tasks), "a/0:2")
}

func suspectDelay(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	s.Sleep(2 * frontier.GroupDelay) // no commit is on its way for another reason
	s.Turn(1)
	fall(s)
	stage.Want(s, "Suspects", s.Stats().Suspects, 1)
}
