package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// dropRules are about hosts and URLs that an operator drops.
func dropRules() []rule {
	o := frontier.Options{LeaseLength: length}
	return []rule{
		{name: "drop: pending URLs are closed as Dropped by the operator, deferred ones too", test: dropCloses},
		{name: "drop: URLs found later are refused for that reason, until Resume", test: dropLater},
		{name: "drop: what was closed stays closed after Resume, until Retry", test: dropStays},
		{name: "drop: what is leased is closed when the lease ends, unless its holder closes it", o: o, test: dropLeased},
		{name: "drop: what is leased is closed when the lease expires", o: o, test: dropExpires},
		{name: "drop: what is leased is closed when the frontier stops", o: o, test: dropStops},
		{name: "drop: of URLs closes these alone, and later ones are accepted", test: dropURLs},
		{name: "drop: of a URL that is leased, closed or unknown", o: o, test: dropURLLeased},
		{name: "drop: a crawl whose rest is dropped is Drained, and a claim that waits is told", test: dropDrains},
	}
}

// dropped fails unless so many URLs are Dropped by the operator.
func (s *stage) dropped(n int64) {
	s.Helper()
	st := s.stats()
	want(s, "Dropped", st.Outcomes[frontier.Dropped], n)
	want(s, "Dropped by the operator", st.Reasons[frontier.Dropped][frontier.ReasonOperator], n)
}

func dropCloses(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2", "a/3", "b/0"))
	t := s.only("a/0")
	r := result(t)
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[0].Print, After: time.Hour}}
	s.finish(r)
	s.finish(fetched(s.only("a/1")))
	want(s, "Drop", s.steer(frontier.Drop, "a"), frontier.Steered{Changed: true, URLs: 3})
	s.held("a", frontier.Drop, 0)
	s.dropped(3)
	want(s, "Stopped", s.stats().Stopped, 1)
	want(s, "Discovered", s.stats().Discovered, 5)
	want(s, "Fetched of the host", s.host("a").Outcomes[frontier.Fetched], 1)
	s.notDue("dropped by an operator", "a")
	s.drain(0)
	want(s, "state", s.claim(1, 1).State, frontier.Drained)
	s.reopen()
	s.held("a", frontier.Drop, 0)
	s.dropped(3)
}

func dropLater(s *stage) {
	s.add(s.links("a/0"))
	s.steer(frontier.Drop, "a")
	want(s, "links", s.add(s.links("a/1", "a/0"), s.seeds("a/2")), frontier.Added{Refused: 2, Known: 1, Barred: []int{0, 2}})
	s.dropped(3)
	s.add(s.links("b/0"))
	r := fetched(s.turn(1))
	r.Found = s.links("a/3", "b/1")
	want(s, "links of a page", s.finish(r).Added, frontier.Added{New: 1, Refused: 1, Barred: []int{0}})
	s.reopen()
	want(s, "after a reopen", s.add(s.links("a/4")), frontier.Added{Refused: 1, Barred: []int{0}})
	s.dropped(5)
	s.steer(frontier.Resume, "a")
	want(s, "after Resume", s.add(s.links("a/4", "a/5")), frontier.Added{New: 1, Known: 1})
	s.dropped(5)
}

func dropStays(s *stage) {
	s.add(s.links("a/0", "a/1"))
	s.steer(frontier.Drop, "a")
	s.add(s.links("a/2"))
	s.steer(frontier.Resume, "a")
	want(s, "state", s.claim(1, 1).State, frontier.Drained)
	r := frontier.Retrial{Outcome: frontier.Dropped, Reason: frontier.ReasonOperator}
	want(s, "Retried: what was refused never was a task", s.retry(r), frontier.Retried{URLs: 2})
	want(s, "the rest", s.all(), "a/0 a/1")
}

func dropLeased(s *stage) {
	s.add(s.links(pages("a", 6)...))
	t := s.turn(4)
	want(s, "Drop", s.steer(frontier.Drop, "a"), frontier.Steered{Changed: true, URLs: 2})
	want(s, "InFlight", s.host("a").InFlight, 4)
	r := fetched(t, t.Tasks[0])
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Hour}} // it would be pending, on a dropped host
	r.Keep, r.Want = true, 9
	f := s.finish(r)
	want(s, "more", names(f.Tasks), "")
	want(s, "Dropped of the Finish that defers one", f.Dropped, []frontier.Fingerprint{t.Tasks[1].Print})
	s.dropped(3)
	last := fetched(t, t.Tasks[2])
	want(s, "Dropped of the last Finish", s.finish(last).Dropped, []frontier.Fingerprint{t.Tasks[3].Print})
	s.dropped(4)
	want(s, "Dropped of its repeat", len(s.finish(last).Dropped), 0)
	want(s, "Fetched", s.host("a").Outcomes[frontier.Fetched], 2)
	want(s, "state", s.claim(1, 1).State, frontier.Drained)
}

func dropExpires(s *stage) {
	s.add(s.links("a/0", "a/1"))
	t := s.turn(9)
	s.steer(frontier.Drop, "a")
	s.dropped(0)
	s.sleep(length + time.Millisecond)
	s.dropped(2)
	s.stale(fetched(t))
	s.dropped(2)
}

func dropStops(s *stage) {
	s.add(s.links("a/0", "b/0"))
	s.claim(2, 1)
	s.steer(frontier.Drop, "a")
	s.reopen()
	s.dropped(1)
	s.turn(1)
	s.steer(frontier.Drop, "b")
	if s.h.Crash != nil {
		s.crash()
		s.dropped(2)
		want(s, "Suspects", s.stats().Suspects, 0)
	}
}

// dropOnly drops URLs of host a, and returns how many were closed.
func (s *stage) dropOnly(urls ...string) int64 {
	s.Helper()
	c := frontier.Steering{Act: frontier.Drop, Authority: s.auth("a")}
	for _, u := range urls {
		c.URLs = append(c.URLs, s.url(u))
	}
	return s.command(c).URLs
}

func dropURLs(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2", "b/1"))
	want(s, "URLs", s.dropOnly("a/1", "a/7"), 1)
	s.held("a", 0, 0)
	s.dropped(1)
	want(s, "Stopped", s.stats().Stopped, 0)
	want(s, "later ones", s.add(s.links("a/3", "a/7", "a/1")), frontier.Added{New: 2, Known: 1})
	var us []string
	for _, u := range s.drain(0) {
		if strings.HasPrefix(u, "a/") {
			us = append(us, u)
		}
	}
	want(s, "the others", strings.Join(us, " "), "a/0 a/2 a/3 a/7")
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Dropped}), frontier.Retried{URLs: 1})
	want(s, "the rest", s.all(), "a/1")
}

func dropURLLeased(s *stage) {
	s.add(s.links(pages("a", 5)...))
	s.finish(fetched(s.turn(1)))
	t := s.turn(3)
	want(s, "URLs", s.dropOnly("a/0", "a/1", "a/2", "a/4", "a/9"), 1)
	want(s, "Dropped", s.finish(fetched(t, t.Tasks[0])).Dropped, []frontier.Fingerprint{t.Tasks[1].Print})
	s.dropped(2)
	want(s, "the rest", s.all(), "a/3")
	want(s, "Fetched", s.host("a").Outcomes[frontier.Fetched], 3)
	want(s, "URLs of an unknown host", s.command(frontier.Steering{
		Act: frontier.Drop, Authority: s.auth("z"), URLs: []canon.URL{s.url("z/0")},
	}).URLs, 0)
}

func dropDrains(s *stage) {
	s.add(s.links("a/0"))
	s.parkAll(s.claim(1, 1), time.Hour)
	answer := s.waiting(frontier.Want{MaxWait: 2 * time.Hour})
	s.steer(frontier.Drop, "a")
	if c, err := answer(); err != nil || len(c.Turns) > 0 || c.State != frontier.Drained {
		s.Fatalf("Claim: %+v, error %v; want Drained", c, err)
	}
}
