package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
	"curtsy/frontier/model"
)

// retryRules are about what only an operator does: closed URLs and refused hosts take part again.
func retryRules() []stage.Rule {
	return []stage.Rule{
		{Name: "retry: URLs of that outcome are pending again in their old order, others stay closed", Test: retryOutcome},
		{Name: "retry: URLs of one authority alone, when one is named", Test: retryAuthority},
		{Name: "retry: totals and reasons move, Discovered stays", Test: retryTotals},
		{Name: "retry: attempts, reason and a replaced URL are forgotten, also after a restart", Test: retryFresh},
		{Name: "retry: a URL that is tried again can be deferred and closed again", Test: retryAgain},
		{Name: "retry: durable when it returns", Crash: true, Test: retryDurable},
		{Name: "retry: a second one finds nothing", Test: retryTwice},
		{Name: "retry: a refused candidate was no task and stays dropped", Test: retryRefused},
		{Name: "retry: Fetched, Redirected, and nothing at all are refused, and no poison", Test: retryArguments},
	}
}

func retryOutcome(s *stage.Stage) {
	for outcome, tasks := range map[frontier.Outcome]string{
		frontier.Disallowed: "a/d1 a/d2 a/d3", frontier.Failed: "a/f1", frontier.Gone: "a/g1", frontier.Dropped: "a/x1",
	} {
		s.Add(s.Links("a/d1", "a/f1", "a/d2", "a/0", "a/g1", "a/x1", "a/d3"))
		s.CloseAll()
		s.Add(s.Links("a/new"))
		if outcome == frontier.Disallowed {
			stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: outcome}), frontier.Retried{URLs: 3})
		} else {
			stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: outcome}), frontier.Retried{URLs: 1})
		}
		t := s.Turn(9)
		stage.Want(s, "tasks", strings.TrimSuffix(stage.Names(t.Tasks), " a/new"), tasks)
		r := stage.Result(t)
		for _, x := range t.Tasks {
			o := outcome
			if stage.Short(x.URL) == "a/new" {
				o = frontier.Fetched
			}
			r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: o})
		}
		s.Finish(r)
	}
}

func retryAuthority(s *stage.Stage) {
	s.Add(s.Links("a/f1", "b/f1", "b/f2", "c/f1"))
	s.CloseAll()
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed, Authority: s.Authority("b")}), frontier.Retried{URLs: 2})
	stage.Want(s, "tasks", s.Pending(), "b/f1 b/f2")
	unknown := frontier.Retrial{Outcome: frontier.Failed, Authority: s.Authority("z"), Hosts: true}
	stage.Want(s, "Retried of an unknown one", s.Retry(unknown), frontier.Retried{})
	stage.Want(s, "hosts", s.Stats().Hosts, 3)
}

func retryTotals(s *stage.Stage) {
	s.Add(s.Links("a/f1", "a/f2", "a/d1", "b/f1"))
	s.CloseAll()
	s.Retry(frontier.Retrial{Outcome: frontier.Failed, Authority: s.Authority("a")})
	st := s.Stats()
	stage.Want(s, "Discovered", st.Discovered, 4)
	stage.Want(s, "Queued", st.Queued, 2)
	stage.Want(s, "Failed", st.Outcomes[frontier.Failed], 1)
	stage.Want(s, "Failed for a reason", st.Reasons[frontier.Failed]["f"], 1)
	stage.Want(s, "Disallowed", st.Outcomes[frontier.Disallowed], 1)
	stage.Want(s, "Failed of the host", s.Host("a").Outcomes[frontier.Failed], 0)
	stage.Want(s, "State", st.State, frontier.Busy)
	s.Retry(frontier.Retrial{Outcome: frontier.Failed})
	_, there := s.Stats().Reasons[frontier.Failed]["f"]
	stage.Want(s, "a reason of nothing is there", there, false)
	stage.Want(s, "Add again", s.Add(s.Links("a/f1", "b/f1")), frontier.Added{Known: 2})
}

// deferredAndFailed closes a/f as failed after a deferral with a redirect to its own key and another that counts.
func deferredAndFailed(s *stage.Stage) {
	s.Helper()
	t := s.Turn(1)
	r := stage.Result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, URL: s.URL("a/f#again"), Reason: "moved"}}
	s.Finish(r)
	t = s.Turn(1)
	r = stage.Result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute, Reason: "status 500"}}
	s.Finish(r)
	s.Sleep(time.Minute)
	t = s.Turn(1)
	stage.Want(s, "attempts", t.Tasks[0].Attempts, 1)
	r = stage.Result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed, Reason: "status 500"}}
	s.Finish(r)
}

// fresh fails unless a/f is claimed as for the first time.
func fresh(s *stage.Stage) {
	s.Helper()
	stage.Want(s, "Deferred", s.Host("a").Deferred, 0)
	x := s.Turn(1).Tasks[0]
	stage.Want(s, "task", stage.Short(x.URL), "a/f")
	stage.Want(s, "attempts", x.Attempts, 0)
	stage.Want(s, "reason", x.Reason, "")
	stage.Want(s, "replaced", x.Replaced, false)
	stage.Want(s, "via", x.Via, "http://via.test/")
}

func retryFresh(s *stage.Stage) {
	s.Add(s.Links("a/f"))
	deferredAndFailed(s)
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{URLs: 1})
	s.Reopen()
	fresh(s)
	s.Reopen()
	fresh(s)
}

func retryAgain(s *stage.Stage) {
	s.Add(s.Links("a/f"))
	for range 3 {
		deferredAndFailed(s)
		stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{URLs: 1})
	}
	t := s.Turn(1)
	r := stage.Result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute, Reason: "status 500"}}
	s.Finish(r)
	s.Reopen()
	s.Sleep(time.Minute)
	t = s.Turn(1)
	stage.Want(s, "attempts", t.Tasks[0].Attempts, 1)
	s.Finish(stage.Fetched(t))
	stage.Want(s, "Retried when it was fetched", s.Retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{})
	s.Reopen()
	stage.Want(s, "tasks", s.Pending(), "")
}

func retryDurable(s *stage.Stage) {
	s.Add(s.Links("a/f", "b/d1", "b/x1"))
	t := s.Turn(1)
	for stage.Short(t.Tasks[0].URL) != "a/f" {
		r := stage.Result(t)
		r.Wait = time.Second
		s.Finish(r)
		t = s.Turn(1)
	}
	s.Finish(stage.Result(t))
	s.Sleep(2 * time.Second)
	s.CloseAll()
	refuse, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority("a"))
	if err != nil {
		s.Fatal(err)
	}
	r := stage.Result(refuse)
	r.Host = &frontier.HostUpdate{Condition: frontier.Refused, Reason: "no", Robots: []byte("r")}
	s.Finish(r)
	all := frontier.Retrial{Outcome: frontier.Failed, Hosts: true, Robots: true}
	stage.Want(s, "Retried", s.Retry(all), frontier.Retried{URLs: 1, Hosts: 1})
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Disallowed}), frontier.Retried{URLs: 1})
	before := s.Picture()
	s.Crash()
	after := s.Picture()
	for _, p := range []model.Picture{before, after} {
		delete(p, "unclean, restarts")
	}
	if diff := before.Diff(after); diff != "" {
		s.Fatalf("something has changed: %s", diff)
	}
	stage.Want(s, "condition", s.Host("a").Condition, frontier.Open)
	stage.Want(s, "octets of robots state", len(s.Host("a").Robots), 0)
	if got := s.Pending(); got != "a/f b/d1" && got != "b/d1 a/f" {
		s.Fatalf("tasks: %s", got)
	}
}

func retryTwice(s *stage.Stage) {
	s.Add(s.Links("a/f1", "a/f2"))
	s.CloseAll()
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}).URLs, 2)
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Failed}).URLs, 0)
	t := s.Turn(1)
	stage.Want(s, "Retried in flight", s.Retry(frontier.Retrial{Outcome: frontier.Failed}).URLs, 0)
	s.Finish(stage.Fetched(t))
	stage.Want(s, "tasks", s.Pending(), "a/f2")
}

func retryRefused(s *stage.Stage) {
	s.Add(s.Links("a/x1"), s.Refused("trap", "a/9", "z/9"))
	s.CloseAll()
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Dropped}).URLs, 1)
	stage.Want(s, "Dropped", s.Stats().Outcomes[frontier.Dropped], 2)
	stage.Want(s, "Dropped by the trap", s.Stats().Reasons[frontier.Dropped]["trap"], 2)
	stage.Want(s, "tasks", s.Pending(), "a/x1")
}

func retryArguments(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.CloseAll()
	for _, r := range []frontier.Retrial{
		{}, {Robots: true}, {Outcome: frontier.Fetched}, {Outcome: frontier.Redirected, Hosts: true}, {Outcome: frontier.Held + 1},
	} {
		if n, err := s.Frontier.Retry(s.Context(), r); err == nil {
			s.Fatalf("Retry %+v: %+v, want an error", r, n)
		}
	}
	stage.Want(s, "Add afterwards", s.Add(s.Links("a/1")), frontier.Added{New: 1})
	stage.Want(s, "tasks", s.Pending(), "a/1")
}
