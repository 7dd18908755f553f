package frontiertest

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// heldRules are about tasks that are held, and about what Retry releases of them.
func heldRules() []stage.Rule {
	return []stage.Rule{
		{Name: "held: closed with its reason, and a crawl whose rest is held is Drained", Test: heldClosed},
		{Name: "held: Retry releases it, and its task says so until it is deferred", Test: heldReleased},
		{Name: "retry: only URLs with that reason, when one is given", Test: retryReason},
	}
}

// holdAll closes what is due as Held for a reason.
func holdAll(s *stage.Stage, reason string) {
	s.Helper()
	t := s.Turn(9)
	r := stage.Result(t)
	for _, x := range t.Tasks {
		r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Held, Reason: reason})
	}
	s.Finish(r)
}

func heldClosed(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	holdAll(s, "calendar")
	for range 2 {
		st := s.Stats()
		stage.Want(s, "Held", st.Outcomes[frontier.Held], 2)
		stage.Want(s, "Held for a reason", st.Reasons[frontier.Held]["calendar"], 2)
		stage.Want(s, "Discovered", st.Discovered, 2)
		stage.Want(s, "of the host", s.Host("a").Outcomes[frontier.Held], 2)
		stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
		stage.Want(s, "found again", s.Add(s.Links("a/0")), frontier.Added{Known: 1})
		s.Reopen()
	}
}

func heldReleased(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	holdAll(s, "calendar")
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Held}), frontier.Retried{URLs: 1})
	for range 2 {
		t := s.Turn(1)
		stage.Want(s, "reason", t.Tasks[0].Reason, frontier.ReasonReleased)
		stage.Want(s, "attempts", t.Tasks[0].Attempts, 0)
		s.Finish(stage.Result(t))
		s.Reopen()
	}
	t := s.Turn(1)
	s.Postpone(t, frontier.Deferral{Print: t.Tasks[0].Print, After: time.Second, Reason: "status 500"})
	s.Sleep(time.Second)
	stage.Want(s, "reason after a deferral", s.Turn(1).Tasks[0].Reason, "status 500")
}

func retryReason(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	holdAll(s, "calendar")
	holdAll(s, "depth")
	stage.Want(s, "an unknown reason", s.Retry(frontier.Retrial{Outcome: frontier.Held, Reason: "cal"}), frontier.Retried{})
	stage.Want(s, "another outcome", s.Retry(frontier.Retrial{Outcome: frontier.Failed, Reason: "depth"}), frontier.Retried{})
	stage.Want(s, "one", s.Retry(frontier.Retrial{Outcome: frontier.Held, Reason: "depth"}), frontier.Retried{URLs: 1})
	st := s.Stats()
	stage.Want(s, "Held for the other", st.Reasons[frontier.Held]["calendar"], 1)
	stage.Want(s, "Held for this", st.Reasons[frontier.Held]["depth"], 0)
	stage.Want(s, "what is open", len(s.Drain(0)), 1)
	stage.Want(s, "all", s.Retry(frontier.Retrial{Outcome: frontier.Held}), frontier.Retried{URLs: 1})
}
