package frontiertest

import (
	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// capRules are about the caps by registrable domain and by reason; acceptRules have those of the crawl and of hosts.
func capRules() []stage.Rule {
	return []stage.Rule{
		{Name: "cap: a link over MaxURLsPerDomain is capped, over all hosts, ports and schemes of the domain",
			Options: frontier.Options{MaxURLsPerDomain: 3}, Test: capDomain},
		{Name: "cap: an address is a domain of its own", Options: frontier.Options{MaxURLsPerDomain: 1}, Test: capAddress},
		{Name: "cap: a domain is full after a reopen too, and its closed URLs count", Options: frontier.Options{MaxURLsPerDomain: 2}, Test: capDomainReopen},
		{Name: "cap: a domain that a later run gives room takes more", Options: frontier.Options{MaxURLsPerDomain: 1}, Test: capDomainLifted},
		{Name: "cap: seeds are not capped by domain, but count", Options: frontier.Options{MaxURLsPerDomain: 1}, Test: capDomainSeeds},
		{Name: "cap: refused candidates and retries count for no cap",
			Options: frontier.Options{MaxURLs: 2, MaxURLsPerDomain: 2, MaxURLsPerAuthority: 2}, Test: capUncounted},
		{Name: "cap: a link over several caps is counted for the first of them",
			Options: frontier.Options{MaxURLs: 4, MaxURLsPerDomain: 2, MaxURLsPerAuthority: 1}, Test: capReasons},
	}
}

// capped fails unless so many links were capped, by crawl, domain and host.
func capped(s *stage.Stage, crawl, domain, host int64) {
	s.Helper()
	c := s.Stats().Capped
	stage.Want(s, "Capped by crawl, domain and host",
		[3]int64{c[frontier.ReasonCapCrawl], c[frontier.ReasonCapDomain], c[frontier.ReasonCapHost]}, [3]int64{crawl, domain, host})
}

// link returns a link to any URL.
func link(s *stage.Stage, url string) []frontier.Candidate {
	s.Helper()
	cs := s.Links("a/0")
	cs[0].URL = s.Parse(url)
	return cs
}

func capDomain(s *stage.Stage) {
	stage.Want(s, "Add", s.Add(s.Links("x.a/1", "y.a/1", "a/1", "z.a/1", "x.b/1", "a/2")), frontier.Added{New: 4, Capped: 2})
	stage.Want(s, "a port of it", s.Add(link(s, "http://x.a.test:8080/")), frontier.Added{Capped: 1})
	stage.Want(s, "a scheme of it", s.Add(link(s, "https://x.a.test/")), frontier.Added{Capped: 1})
	stage.Want(s, "what is known", s.Add(s.Links("y.a/1")), frontier.Added{Known: 1})
	stage.Want(s, "Seen", s.Seen("z.a/1"), false)
	capped(s, 0, 4, 0)
	stage.Want(s, "Discovered", s.Stats().Discovered, 4)
	r := stage.Fetched(s.Turn(1))
	r.Found = s.Links("q.r.a/1", "y.b/1", "z.b/1", "z.b/2")
	stage.Want(s, "Found", s.Finish(r).Added, frontier.Added{New: 2, Capped: 2})
	capped(s, 0, 6, 0)
}

func capAddress(s *stage.Stage) {
	for _, u := range []string{"http://192.0.2.1/", "http://192.0.2.2/", "http://[2001:db8::1]/", "http://localhost/"} {
		stage.Want(s, "the first of "+u, s.Add(link(s, u)), frontier.Added{New: 1})
		stage.Want(s, "the second", s.Add(link(s, u+"2")), frontier.Added{Capped: 1})
	}
}

func capDomainReopen(s *stage.Stage) {
	s.Add(s.Links("x.a/1", "y.a/1"))
	s.Drain(0)
	stage.Want(s, "links", s.Add(s.Links("z.a/1", "b/1")), frontier.Added{New: 1, Capped: 1})
	s.Reopen()
	stage.Want(s, "after a reopen", s.Add(s.Links("z.a/1", "c.b/1", "c.b/2")), frontier.Added{New: 1, Capped: 2})
	capped(s, 0, 3, 0)
	if s.Harness.Crash != nil {
		s.Crash()
		stage.Want(s, "after a crash", s.Add(s.Links("z.a/1", "c.b/2")), frontier.Added{Capped: 2})
	}
}

func capDomainLifted(s *stage.Stage) {
	stage.Want(s, "Add", s.Add(s.Links("x.a/1", "y.a/1")), frontier.Added{New: 1, Capped: 1})
	s.Close()
	s.Open(frontier.Options{MaxURLsPerDomain: 2})
	stage.Want(s, "with more room", s.Add(s.Links("y.a/1", "z.a/1")), frontier.Added{New: 1, Capped: 1})
	s.Close()
	s.Open(frontier.Options{})
	stage.Want(s, "with no cap", s.Add(s.Links("z.a/1")), frontier.Added{New: 1})
	capped(s, 0, 2, 0)
}

func capDomainSeeds(s *stage.Stage) {
	stage.Want(s, "seeds", s.Add(s.Seeds("x.a/1", "y.a/1")), frontier.Added{New: 2})
	stage.Want(s, "a link", s.Add(s.Links("z.a/1", "b/1")), frontier.Added{New: 1, Capped: 1})
}

func capUncounted(s *stage.Stage) {
	stage.Want(s, "Add", s.Add(s.Refused("trap", "a/8", "a/9"), s.Links("a/f1")), frontier.Added{New: 1, Refused: 2})
	s.CloseAll()
	s.Retry(frontier.Retrial{Outcome: frontier.Failed})
	stage.Want(s, "room for one more", s.Add(s.Links("a/1", "a/2")), frontier.Added{New: 1, Capped: 1})
	stage.Want(s, "a refused one, over the cap", s.Add(s.Refused("trap", "a/7")), frontier.Added{Refused: 1})
}

func capReasons(s *stage.Stage) {
	s.Add(s.Links("x.a/1", "x.a/2"))
	capped(s, 0, 0, 1)
	s.Add(s.Links("y.a/1", "y.a/2", "z.a/1"))
	capped(s, 0, 2, 1)
	s.Add(s.Links("b/1", "b/2"))
	capped(s, 0, 2, 2)
	s.Add(s.Links("c/1", "c/2", "z.a/1", "d/1"))
	capped(s, 3, 2, 2)
	s.Reopen()
	capped(s, 3, 2, 2)
}
