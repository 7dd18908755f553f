package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/frontiertest/stage"
)

// dropRules are about hosts and URLs that an operator drops.
func dropRules() []stage.Rule {
	o := frontier.Options{LeaseLength: stage.LeaseLength}
	return []stage.Rule{
		{Name: "drop: pending URLs are closed as Dropped by the operator, deferred ones too", Test: dropCloses},
		{Name: "drop: URLs found later are refused for that reason, until Resume", Test: dropLater},
		{Name: "drop: what was closed stays closed after Resume, until Retry", Test: dropStays},
		{Name: "drop: what is leased is closed when the lease ends, unless its holder closes it", Options: o, Test: dropLeased},
		{Name: "drop: what is leased is closed when the lease expires", Options: o, Test: dropExpires},
		{Name: "drop: what is leased is closed when the frontier stops", Options: o, Test: dropStops},
		{Name: "drop: of URLs closes these alone, and later ones are accepted", Test: dropURLs},
		{Name: "drop: of a URL that is leased, closed or unknown", Options: o, Test: dropURLLeased},
		{Name: "drop: a crawl whose rest is dropped is Drained, and a claim that waits is told", Test: dropDrains},
	}
}

// dropped fails unless so many URLs are Dropped by the operator.
func dropped(s *stage.Stage, n int64) {
	s.Helper()
	st := s.Stats()
	stage.Want(s, "Dropped", st.Outcomes[frontier.Dropped], n)
	stage.Want(s, "Dropped by the operator", st.Reasons[frontier.Dropped][frontier.ReasonOperator], n)
}

func dropCloses(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2", "a/3", "b/0"))
	t := s.Only("a/0")
	r := stage.Result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Hour}}
	s.Finish(r)
	s.Finish(stage.Fetched(s.Only("a/1")))
	stage.Want(s, "Drop", s.Steer(frontier.Drop, "a"), frontier.Steered{Changed: true, URLs: 3})
	held(s, "a", frontier.Drop, 0)
	dropped(s, 3)
	stage.Want(s, "Stopped", s.Stats().Stopped, 1)
	stage.Want(s, "Discovered", s.Stats().Discovered, 5)
	stage.Want(s, "Fetched of the host", s.Host("a").Outcomes[frontier.Fetched], 1)
	s.NotDue("dropped by an operator", "a")
	s.Drain(0)
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
	s.Reopen()
	held(s, "a", frontier.Drop, 0)
	dropped(s, 3)
}

func dropLater(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Steer(frontier.Drop, "a")
	stage.Want(s, "links", s.Add(s.Links("a/1", "a/0"), s.Seeds("a/2")), frontier.Added{Refused: 2, Known: 1, Barred: []int{0, 2}})
	dropped(s, 3)
	s.Add(s.Links("b/0"))
	r := stage.Fetched(s.Turn(1))
	r.Found = s.Links("a/3", "b/1")
	stage.Want(s, "links of a page", s.Finish(r).Added, frontier.Added{New: 1, Refused: 1, Barred: []int{0}})
	s.Reopen()
	stage.Want(s, "after a reopen", s.Add(s.Links("a/4")), frontier.Added{Refused: 1, Barred: []int{0}})
	dropped(s, 5)
	s.Steer(frontier.Resume, "a")
	stage.Want(s, "after Resume", s.Add(s.Links("a/4", "a/5")), frontier.Added{New: 1, Known: 1})
	dropped(s, 5)
}

func dropStays(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	s.Steer(frontier.Drop, "a")
	s.Add(s.Links("a/2"))
	s.Steer(frontier.Resume, "a")
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
	r := frontier.Retrial{Outcome: frontier.Dropped, Reason: frontier.ReasonOperator}
	stage.Want(s, "Retried: what was refused never was a task", s.Retry(r), frontier.Retried{URLs: 2})
	stage.Want(s, "the rest", s.Pending(), "a/0 a/1")
}

func dropLeased(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 6)...))
	t := s.Turn(4)
	stage.Want(s, "Drop", s.Steer(frontier.Drop, "a"), frontier.Steered{Changed: true, URLs: 2})
	stage.Want(s, "InFlight", s.Host("a").InFlight, 4)
	r := stage.Fetched(t, t.Tasks[0])
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Hour}} // it would be pending, on a dropped host
	r.Keep, r.Want = true, 9
	f := s.Finish(r)
	stage.Want(s, "more", stage.Names(f.Tasks), "")
	stage.Want(s, "Dropped of the Finish that defers one", f.Dropped, []frontier.Fingerprint{t.Tasks[1].Print})
	dropped(s, 3)
	last := stage.Fetched(t, t.Tasks[2])
	stage.Want(s, "Dropped of the last Finish", s.Finish(last).Dropped, []frontier.Fingerprint{t.Tasks[3].Print})
	dropped(s, 4)
	stage.Want(s, "Dropped of its repeat", len(s.Finish(last).Dropped), 0)
	stage.Want(s, "Fetched", s.Host("a").Outcomes[frontier.Fetched], 2)
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
}

func dropExpires(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(9)
	s.Steer(frontier.Drop, "a")
	dropped(s, 0)
	s.Sleep(stage.LeaseLength + time.Millisecond)
	dropped(s, 2)
	s.Stale(stage.Fetched(t))
	dropped(s, 2)
}

func dropStops(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	s.Claim(2, 1)
	s.Steer(frontier.Drop, "a")
	s.Reopen()
	dropped(s, 1)
	s.Turn(1)
	s.Steer(frontier.Drop, "b")
	if s.Harness.Crash != nil {
		s.Crash()
		dropped(s, 2)
		stage.Want(s, "Suspects", s.Stats().Suspects, 0)
	}
}

// dropOnly drops URLs of host a, and returns how many were closed.
func dropOnly(s *stage.Stage, urls ...string) int64 {
	s.Helper()
	c := frontier.Steering{Act: frontier.Drop, Authority: s.Authority("a")}
	for _, u := range urls {
		c.URLs = append(c.URLs, s.URL(u))
	}
	return s.Command(c).URLs
}

func dropURLs(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2", "b/1"))
	stage.Want(s, "URLs", dropOnly(s, "a/1", "a/7"), 1)
	held(s, "a", 0, 0)
	dropped(s, 1)
	stage.Want(s, "Stopped", s.Stats().Stopped, 0)
	stage.Want(s, "later ones", s.Add(s.Links("a/3", "a/7", "a/1")), frontier.Added{New: 2, Known: 1})
	var us []string
	for _, u := range s.Drain(0) {
		if strings.HasPrefix(u, "a/") {
			us = append(us, u)
		}
	}
	stage.Want(s, "the others", strings.Join(us, " "), "a/0 a/2 a/3 a/7")
	stage.Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Dropped}), frontier.Retried{URLs: 1})
	stage.Want(s, "the rest", s.Pending(), "a/1")
}

func dropURLLeased(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 5)...))
	s.Finish(stage.Fetched(s.Turn(1)))
	t := s.Turn(3)
	stage.Want(s, "URLs", dropOnly(s, "a/0", "a/1", "a/2", "a/4", "a/9"), 1)
	stage.Want(s, "Dropped", s.Finish(stage.Fetched(t, t.Tasks[0])).Dropped, []frontier.Fingerprint{t.Tasks[1].Print})
	dropped(s, 2)
	stage.Want(s, "the rest", s.Pending(), "a/3")
	stage.Want(s, "Fetched", s.Host("a").Outcomes[frontier.Fetched], 3)
	stage.Want(s, "URLs of an unknown host", s.Command(frontier.Steering{
		Act: frontier.Drop, Authority: s.Authority("z"), URLs: []canon.URL{s.URL("z/0")},
	}).URLs, 0)
}

func dropDrains(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	stage.ParkAll(s, s.Claim(1, 1), time.Hour)
	answer := s.Waiting(frontier.Want{MaxWait: 2 * time.Hour})
	s.Steer(frontier.Drop, "a")
	if c, err := answer(); err != nil || len(c.Turns) > 0 || c.State != frontier.Drained {
		s.Fatalf("Claim: %+v, error %v; want Drained", c, err)
	}
}
