package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/model"
)

// retryRules are about what only an operator does: closed URLs and refused hosts take part again.
func retryRules() []rule {
	return []rule{
		{name: "retry: URLs of that outcome are pending again in their old order, others stay closed", test: retryOutcome},
		{name: "retry: URLs of one authority alone, when one is named", test: retryAuthority},
		{name: "retry: totals and reasons move, Discovered stays", test: retryTotals},
		{name: "retry: attempts, reason and a replaced URL are forgotten, also after a restart", test: retryFresh},
		{name: "retry: a URL that is tried again can be deferred and closed again", test: retryAgain},
		{name: "retry: durable when it returns", crash: true, test: retryDurable},
		{name: "retry: a second one finds nothing", test: retryTwice},
		{name: "retry: a refused candidate was no task and stays dropped", test: retryRefused},
		{name: "retry: Fetched, Redirected, and nothing at all are refused, and no poison", test: retryArguments},
	}
}

// retry has something tried again.
func (s *stage) retry(r frontier.Retrial) frontier.Retried {
	s.Helper()
	n, err := s.f.Retry(s.Context(), r)
	if err != nil {
		s.Fatalf("Retry %+v: %v", r, err)
	}
	s.sums()
	return n
}

// closeAll closes what is due as its path says: /d… Disallowed, /f… Failed, /g… Gone, /x… Dropped, others Fetched. Each
// outcome has its first letter for a reason.
func (s *stage) closeAll() {
	s.Helper()
	outcomes := map[byte]frontier.Outcome{'d': frontier.Disallowed, 'f': frontier.Failed, 'g': frontier.Gone, 'x': frontier.Dropped}
	for {
		c := s.claim(9, 9)
		if len(c.Turns) == 0 {
			return
		}
		for _, t := range c.Turns {
			r := result(t)
			for _, x := range t.Tasks {
				letter := x.URL.Path()[1]
				o, ok := outcomes[letter]
				if !ok {
					o = frontier.Fetched
				}
				r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: o, Reason: string(letter)})
			}
			s.finish(r)
		}
	}
}

// all joins what drain returns.
func (s *stage) all() string {
	s.Helper()
	return strings.Join(s.drain(0), " ")
}

func retryOutcome(s *stage) {
	for outcome, tasks := range map[frontier.Outcome]string{
		frontier.Disallowed: "a/d1 a/d2 a/d3", frontier.Failed: "a/f1", frontier.Gone: "a/g1", frontier.Dropped: "a/x1",
	} {
		s.add(s.links("a/d1", "a/f1", "a/d2", "a/0", "a/g1", "a/x1", "a/d3"))
		s.closeAll()
		s.add(s.links("a/new"))
		if outcome == frontier.Disallowed {
			want(s, "Retried", s.retry(frontier.Retrial{Outcome: outcome}), frontier.Retried{URLs: 3})
		} else {
			want(s, "Retried", s.retry(frontier.Retrial{Outcome: outcome}), frontier.Retried{URLs: 1})
		}
		t := s.turn(9)
		want(s, "tasks", strings.TrimSuffix(names(t.Tasks), " a/new"), tasks)
		r := result(t)
		for _, x := range t.Tasks {
			o := outcome
			if short(x.URL) == "a/new" {
				o = frontier.Fetched
			}
			r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: o})
		}
		s.finish(r)
	}
}

func retryAuthority(s *stage) {
	s.add(s.links("a/f1", "b/f1", "b/f2", "c/f1"))
	s.closeAll()
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Failed, Authority: s.auth("b")}), frontier.Retried{URLs: 2})
	want(s, "tasks", s.all(), "b/f1 b/f2")
	unknown := frontier.Retrial{Outcome: frontier.Failed, Authority: s.auth("z"), Hosts: true}
	want(s, "Retried of an unknown one", s.retry(unknown), frontier.Retried{})
	want(s, "hosts", s.stats().Hosts, 3)
}

func retryTotals(s *stage) {
	s.add(s.links("a/f1", "a/f2", "a/d1", "b/f1"))
	s.closeAll()
	s.retry(frontier.Retrial{Outcome: frontier.Failed, Authority: s.auth("a")})
	st := s.stats()
	want(s, "Discovered", st.Discovered, 4)
	want(s, "Queued", st.Queued, 2)
	want(s, "Failed", st.Outcomes[frontier.Failed], 1)
	want(s, "Failed for a reason", st.Reasons[frontier.Failed]["f"], 1)
	want(s, "Disallowed", st.Outcomes[frontier.Disallowed], 1)
	want(s, "Failed of the host", s.host("a").Outcomes[frontier.Failed], 0)
	want(s, "State", st.State, frontier.Busy)
	s.retry(frontier.Retrial{Outcome: frontier.Failed})
	_, there := s.stats().Reasons[frontier.Failed]["f"]
	want(s, "a reason of nothing is there", there, false)
	want(s, "Add again", s.add(s.links("a/f1", "b/f1")), frontier.Added{Known: 2})
}

// deferredAndFailed closes a/f as failed after a deferral with a redirect to its own key and another that counts.
func (s *stage) deferredAndFailed() {
	s.Helper()
	t := s.turn(1)
	r := result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, URL: s.url("a/f#again"), Reason: "moved"}}
	s.finish(r)
	t = s.turn(1)
	r = result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute, Reason: "status 500"}}
	s.finish(r)
	s.sleep(time.Minute)
	t = s.turn(1)
	want(s, "attempts", t.Tasks[0].Attempts, 1)
	r = result(t)
	r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Failed, Reason: "status 500"}}
	s.finish(r)
}

// fresh fails unless a/f is claimed as for the first time.
func (s *stage) fresh() {
	s.Helper()
	want(s, "Deferred", s.host("a").Deferred, 0)
	x := s.turn(1).Tasks[0]
	want(s, "task", short(x.URL), "a/f")
	want(s, "attempts", x.Attempts, 0)
	want(s, "reason", x.Reason, "")
	want(s, "replaced", x.Replaced, false)
	want(s, "via", x.Via, "http://via.test/")
}

func retryFresh(s *stage) {
	s.add(s.links("a/f"))
	s.deferredAndFailed()
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{URLs: 1})
	s.reopen()
	s.fresh()
	s.reopen()
	s.fresh()
}

func retryAgain(s *stage) {
	s.add(s.links("a/f"))
	for range 3 {
		s.deferredAndFailed()
		want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{URLs: 1})
	}
	t := s.turn(1)
	r := result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Minute, Reason: "status 500"}}
	s.finish(r)
	s.reopen()
	s.sleep(time.Minute)
	t = s.turn(1)
	want(s, "attempts", t.Tasks[0].Attempts, 1)
	s.finish(fetched(t))
	want(s, "Retried when it was fetched", s.retry(frontier.Retrial{Outcome: frontier.Failed}), frontier.Retried{})
	s.reopen()
	want(s, "tasks", s.all(), "")
}

func retryDurable(s *stage) {
	s.add(s.links("a/f", "b/d1", "b/x1"))
	t := s.turn(1)
	for short(t.Tasks[0].URL) != "a/f" {
		r := result(t)
		r.Wait = time.Second
		s.finish(r)
		t = s.turn(1)
	}
	s.finish(result(t))
	s.sleep(2 * time.Second)
	s.closeAll()
	refuse, err := s.f.ClaimAuthority(s.Context(), s.auth("a"))
	if err != nil {
		s.Fatal(err)
	}
	r := result(refuse)
	r.Host = &frontier.HostUpdate{Condition: frontier.Refused, Reason: "no", Robots: []byte("r")}
	s.finish(r)
	all := frontier.Retrial{Outcome: frontier.Failed, Hosts: true, Robots: true}
	want(s, "Retried", s.retry(all), frontier.Retried{URLs: 1, Hosts: 1})
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Disallowed}), frontier.Retried{URLs: 1})
	before := s.picture()
	s.crash()
	after := s.picture()
	for _, p := range []model.Picture{before, after} {
		delete(p, "unclean, restarts")
	}
	if diff := before.Diff(after); diff != "" {
		s.Fatalf("something has changed: %s", diff)
	}
	want(s, "condition", s.host("a").Condition, frontier.Open)
	want(s, "octets of robots state", len(s.host("a").Robots), 0)
	if got := s.all(); got != "a/f b/d1" && got != "b/d1 a/f" {
		s.Fatalf("tasks: %s", got)
	}
}

func retryTwice(s *stage) {
	s.add(s.links("a/f1", "a/f2"))
	s.closeAll()
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Failed}).URLs, 2)
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Failed}).URLs, 0)
	t := s.turn(1)
	want(s, "Retried in flight", s.retry(frontier.Retrial{Outcome: frontier.Failed}).URLs, 0)
	s.finish(fetched(t))
	want(s, "tasks", s.all(), "a/f2")
}

func retryRefused(s *stage) {
	s.add(s.links("a/x1"), s.refused("trap", "a/9", "z/9"))
	s.closeAll()
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Dropped}).URLs, 1)
	want(s, "Dropped", s.stats().Outcomes[frontier.Dropped], 2)
	want(s, "Dropped by the trap", s.stats().Reasons[frontier.Dropped]["trap"], 2)
	want(s, "tasks", s.all(), "a/x1")
}

func retryArguments(s *stage) {
	s.add(s.links("a/0"))
	s.closeAll()
	for _, r := range []frontier.Retrial{
		{}, {Robots: true}, {Outcome: frontier.Fetched}, {Outcome: frontier.Redirected, Hosts: true}, {Outcome: frontier.Held + 1},
	} {
		if n, err := s.f.Retry(s.Context(), r); err == nil {
			s.Fatalf("Retry %+v: %+v, want an error", r, n)
		}
	}
	want(s, "Add afterwards", s.add(s.links("a/1")), frontier.Added{New: 1})
	want(s, "tasks", s.all(), "a/1")
}
