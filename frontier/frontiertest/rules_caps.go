package frontiertest

import (
	"strings"
	"time"

	"curtsy/frontier"
)

// capRules are about the caps by registrable domain and by reason; acceptRules have those of the crawl and of hosts.
func capRules() []rule {
	return []rule{
		{name: "cap: a link over MaxURLsPerDomain is capped, over all hosts, ports and schemes of the domain",
			o: frontier.Options{MaxURLsPerDomain: 3}, test: capDomain},
		{name: "cap: an address is a domain of its own", o: frontier.Options{MaxURLsPerDomain: 1}, test: capAddress},
		{name: "cap: a domain is full after a reopen too, and its closed URLs count", o: frontier.Options{MaxURLsPerDomain: 2}, test: capDomainReopen},
		{name: "cap: a domain that a later run gives room takes more", o: frontier.Options{MaxURLsPerDomain: 1}, test: capDomainLifted},
		{name: "cap: seeds are not capped by domain, but count", o: frontier.Options{MaxURLsPerDomain: 1}, test: capDomainSeeds},
		{name: "cap: refused candidates and retries count for no cap",
			o: frontier.Options{MaxURLs: 2, MaxURLsPerDomain: 2, MaxURLsPerAuthority: 2}, test: capUncounted},
		{name: "cap: a link over several caps is counted for the first of them",
			o: frontier.Options{MaxURLs: 4, MaxURLsPerDomain: 2, MaxURLsPerAuthority: 1}, test: capReasons},
	}
}

// capped fails unless so many links were capped, by crawl, domain and host.
func (s *stage) capped(crawl, domain, host int64) {
	s.Helper()
	c := s.stats().Capped
	want(s, "Capped by crawl, domain and host",
		[3]int64{c[frontier.ReasonCapCrawl], c[frontier.ReasonCapDomain], c[frontier.ReasonCapHost]}, [3]int64{crawl, domain, host})
}

// link returns a link to any URL.
func (s *stage) link(url string) []frontier.Candidate {
	s.Helper()
	cs := s.links("a/0")
	cs[0].URL = s.parse(url)
	return cs
}

func capDomain(s *stage) {
	want(s, "Add", s.add(s.links("x.a/1", "y.a/1", "a/1", "z.a/1", "x.b/1", "a/2")), frontier.Added{New: 4, Capped: 2})
	want(s, "a port of it", s.add(s.link("http://x.a.test:8080/")), frontier.Added{Capped: 1})
	want(s, "a scheme of it", s.add(s.link("https://x.a.test/")), frontier.Added{Capped: 1})
	want(s, "what is known", s.add(s.links("y.a/1")), frontier.Added{Known: 1})
	want(s, "Seen", s.seen("z.a/1"), false)
	s.capped(0, 4, 0)
	want(s, "Discovered", s.stats().Discovered, 4)
	r := fetched(s.turn(1))
	r.Found = s.links("q.r.a/1", "y.b/1", "z.b/1", "z.b/2")
	want(s, "Found", s.finish(r).Added, frontier.Added{New: 2, Capped: 2})
	s.capped(0, 6, 0)
}

func capAddress(s *stage) {
	for _, u := range []string{"http://192.0.2.1/", "http://192.0.2.2/", "http://[2001:db8::1]/", "http://localhost/"} {
		want(s, "the first of "+u, s.add(s.link(u)), frontier.Added{New: 1})
		want(s, "the second", s.add(s.link(u+"2")), frontier.Added{Capped: 1})
	}
}

func capDomainReopen(s *stage) {
	s.add(s.links("x.a/1", "y.a/1"))
	s.drain(0)
	want(s, "links", s.add(s.links("z.a/1", "b/1")), frontier.Added{New: 1, Capped: 1})
	s.reopen()
	want(s, "after a reopen", s.add(s.links("z.a/1", "c.b/1", "c.b/2")), frontier.Added{New: 1, Capped: 2})
	s.capped(0, 3, 0)
	if s.h.Crash != nil {
		s.crash()
		want(s, "after a crash", s.add(s.links("z.a/1", "c.b/2")), frontier.Added{Capped: 2})
	}
}

func capDomainLifted(s *stage) {
	want(s, "Add", s.add(s.links("x.a/1", "y.a/1")), frontier.Added{New: 1, Capped: 1})
	s.close()
	s.open(frontier.Options{MaxURLsPerDomain: 2})
	want(s, "with more room", s.add(s.links("y.a/1", "z.a/1")), frontier.Added{New: 1, Capped: 1})
	s.close()
	s.open(frontier.Options{})
	want(s, "with no cap", s.add(s.links("z.a/1")), frontier.Added{New: 1})
	s.capped(0, 2, 0)
}

func capDomainSeeds(s *stage) {
	want(s, "seeds", s.add(s.seeds("x.a/1", "y.a/1")), frontier.Added{New: 2})
	want(s, "a link", s.add(s.links("z.a/1", "b/1")), frontier.Added{New: 1, Capped: 1})
}

func capUncounted(s *stage) {
	want(s, "Add", s.add(s.refused("trap", "a/8", "a/9"), s.links("a/f1")), frontier.Added{New: 1, Refused: 2})
	s.closeAll()
	s.retry(frontier.Retrial{Outcome: frontier.Failed})
	want(s, "room for one more", s.add(s.links("a/1", "a/2")), frontier.Added{New: 1, Capped: 1})
	want(s, "a refused one, over the cap", s.add(s.refused("trap", "a/7")), frontier.Added{Refused: 1})
}

func capReasons(s *stage) {
	s.add(s.links("x.a/1", "x.a/2"))
	s.capped(0, 0, 1)
	s.add(s.links("y.a/1", "y.a/2", "z.a/1"))
	s.capped(0, 2, 1)
	s.add(s.links("b/1", "b/2"))
	s.capped(0, 2, 2)
	s.add(s.links("c/1", "c/2", "z.a/1", "d/1"))
	s.capped(3, 2, 2)
	s.reopen()
	s.capped(3, 2, 2)
}

// depthRules are about the order of the tasks of a host that is not breadth first, and about tasks that are held.
func depthRules() []rule {
	deep := frontier.Options{Order: frontier.DepthFirst}
	return []rule{
		{name: "depth first: the task that was accepted last comes first", o: deep, test: depthFirst},
		{name: "depth first: what a turn does not settle has its old place", o: deep, test: depthReturned},
		{name: "depth first: each opening says its own order", o: deep, test: depthReopen},
		{name: "depth first: what is tried again has its old place", o: deep, test: depthRetry},
		{name: "held: closed with its reason, and a crawl whose rest is held is Drained", test: heldClosed},
		{name: "held: Retry releases it, and its task says so until it is deferred", test: heldReleased},
		{name: "retry: only URLs with that reason, when one is given", test: retryReason},
	}
}

func depthFirst(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2", "a/3"))
	t := s.turn(2)
	want(s, "the first turn", names(t.Tasks), "a/3 a/2")
	r := fetched(t)
	r.Found = s.links("a/4", "a/5")
	s.finish(r)
	want(s, "the rest", s.all(), "a/5 a/4 a/1 a/0")
}

func depthReturned(s *stage) {
	s.add(s.links(pages("a", 5)...))
	t := s.turn(3)
	want(s, "the first turn", names(t.Tasks), "a/4 a/3 a/2")
	s.finish(fetched(t, t.Tasks[1]))
	t = s.turn(2)
	want(s, "the second turn", names(t.Tasks), "a/4 a/2")
	s.add(s.links("a/5"))
	s.finish(result(t))
	t = s.turn(9)
	want(s, "the third turn", names(t.Tasks), "a/5 a/4 a/2 a/1 a/0")
	for _, x := range t.Tasks {
		want(s, "attempts of "+short(x.URL), x.Attempts, 0)
	}
}

func depthReopen(s *stage) {
	s.add(s.links(pages("a", 150)...))
	s.finish(fetched(s.turn(1)))
	s.reopen()
	t := s.turn(2)
	want(s, "depth first", names(t.Tasks), "a/148 a/147")
	s.finish(fetched(t))
	s.close()
	s.open(frontier.Options{})
	t = s.turn(200)
	want(s, "breadth first", names(t.Tasks), strings.Join(pages("a", 147), " "))
	s.finish(fetched(t, t.Tasks[0]))
	s.close()
	s.open(frontier.Options{Order: frontier.DepthFirst})
	want(s, "depth first", names(s.turn(2).Tasks), "a/146 a/145")
}

func depthRetry(s *stage) {
	s.add(s.links("a/0", "a/f1", "a/f2"))
	s.closeAll()
	s.add(s.links("a/3"))
	s.retry(frontier.Retrial{Outcome: frontier.Failed})
	want(s, "the rest", s.all(), "a/3 a/f2 a/f1")
}

// holdAll closes what is due as Held for a reason.
func (s *stage) holdAll(reason string) {
	s.Helper()
	t := s.turn(9)
	r := result(t)
	for _, x := range t.Tasks {
		r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Held, Reason: reason})
	}
	s.finish(r)
}

func heldClosed(s *stage) {
	s.add(s.links("a/0", "a/1"))
	s.holdAll("calendar")
	for range 2 {
		st := s.stats()
		want(s, "Held", st.Outcomes[frontier.Held], 2)
		want(s, "Held for a reason", st.Reasons[frontier.Held]["calendar"], 2)
		want(s, "Discovered", st.Discovered, 2)
		want(s, "of the host", s.host("a").Outcomes[frontier.Held], 2)
		want(s, "state", s.claim(1, 1).State, frontier.Drained)
		want(s, "found again", s.add(s.links("a/0")), frontier.Added{Known: 1})
		s.reopen()
	}
}

func heldReleased(s *stage) {
	s.add(s.links("a/0"))
	s.holdAll("calendar")
	want(s, "Retried", s.retry(frontier.Retrial{Outcome: frontier.Held}), frontier.Retried{URLs: 1})
	for range 2 {
		t := s.turn(1)
		want(s, "reason", t.Tasks[0].Reason, frontier.ReasonReleased)
		want(s, "attempts", t.Tasks[0].Attempts, 0)
		s.finish(result(t))
		s.reopen()
	}
	t := s.turn(1)
	s.postpone(t, frontier.Deferral{Print: t.Tasks[0].Print, After: time.Second, Reason: "status 500"})
	s.sleep(time.Second)
	want(s, "reason after a deferral", s.turn(1).Tasks[0].Reason, "status 500")
}

func retryReason(s *stage) {
	s.add(s.links("a/0", "b/0"))
	s.holdAll("calendar")
	s.holdAll("depth")
	want(s, "an unknown reason", s.retry(frontier.Retrial{Outcome: frontier.Held, Reason: "cal"}), frontier.Retried{})
	want(s, "another outcome", s.retry(frontier.Retrial{Outcome: frontier.Failed, Reason: "depth"}), frontier.Retried{})
	want(s, "one", s.retry(frontier.Retrial{Outcome: frontier.Held, Reason: "depth"}), frontier.Retried{URLs: 1})
	st := s.stats()
	want(s, "Held for the other", st.Reasons[frontier.Held]["calendar"], 1)
	want(s, "Held for this", st.Reasons[frontier.Held]["depth"], 0)
	want(s, "what is open", len(s.drain(0)), 1)
	want(s, "all", s.retry(frontier.Retrial{Outcome: frontier.Held}), frontier.Retried{URLs: 1})
}
