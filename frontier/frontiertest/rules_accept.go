package frontiertest

import (
	"slices"
	"strings"

	"curtsy/frontier"
)

// acceptRules are about candidates: put-if-new, refusals, caps and seeds.
func acceptRules() []rule {
	return []rule{
		{name: "accept: of all candidates with one key one is accepted, ever", test: acceptOnce},
		{name: "accept: links of two pages to one URL are accepted once", test: acceptLinksOnce},
		{name: "accept: a task carries what was accepted", test: acceptCarries},
		{name: "accept: a refused candidate is Dropped with its reason and never a task", test: acceptRefused},
		{name: "accept: Seen is false for what was never offered", test: acceptUnseen},
		{name: "cap: a link over MaxURLs is counted and not marked seen", o: frontier.Options{MaxURLs: 3}, test: capAll},
		{name: "cap: a link over MaxURLsPerAuthority leaves other authorities alone",
			o: frontier.Options{MaxURLsPerAuthority: 2}, test: capHost},
		{name: "cap: seeds are not capped", o: frontier.Options{MaxURLs: 1, MaxURLsPerAuthority: 1}, test: capSeeds},
		{name: "cap: a capped link is accepted when a later run has room", o: frontier.Options{MaxURLs: 1}, test: capLifted},
		{name: "seeds: kept in order, new or not, with the extensions of scope", test: seedsInOrder},
	}
}

func acceptOnce(s *stage) {
	want(s, "two of one key in a batch", s.add(s.links("a/1", "a/2", "a/1")), frontier.Added{New: 2, Known: 1})
	want(s, "again in another batch", s.add(s.links("a/2", "a/3")), frontier.Added{New: 1, Known: 1})
	t := s.turn(1)
	want(s, "while it is leased", s.add(s.links("a/1")), frontier.Added{Known: 1})
	r := fetched(t)
	r.Found = s.links("a/1", "a/2", "b/1")
	want(s, "in a page's links", s.finish(r).Added, frontier.Added{New: 1, Known: 2})
	want(s, "after it is closed", s.add(s.links("a/1")), frontier.Added{Known: 1})
	s.reopen()
	want(s, "after a reopen", s.add(s.links("a/1", "a/2", "a/3", "b/1")), frontier.Added{Known: 4})
	us := s.drain(0)
	slices.Sort(us)
	want(s, "what is left", strings.Join(us, " "), "a/2 a/3 b/1")
	want(s, "Discovered", s.stats().Discovered, 4)
}

func acceptLinksOnce(s *stage) {
	s.add(s.seeds("a/1", "b/1"))
	c := s.claim(2, 1)
	want(s, "turns", len(c.Turns), 2)
	var rs []frontier.Result
	for _, t := range c.Turns {
		r := fetched(t)
		r.Found = s.links("c/1", "a/2")
		rs = append(rs, r)
	}
	fs, err := s.f.Finish(s.Context(), rs)
	if err != nil || len(fs) != 2 || fs[0].Err != nil || fs[1].Err != nil {
		s.Fatalf("Finish: %+v, error %v", fs, err)
	}
	want(s, "the first page's links", fs[0].Added, frontier.Added{New: 2})
	want(s, "the second page's links", fs[1].Added, frontier.Added{Known: 2})
	want(s, "tasks", len(s.drain(0)), 2)
}

func acceptCarries(s *stage) {
	c := frontier.Candidate{
		URL: s.url("a/1"), Kind: frontier.KindEmbed, Via: "http://b.test/page", Depth: 7, Hops: 3, Embeds: 2, Away: 1,
		Seed: "http://c.test/", Tag: "a tag \x00 of any octets é",
	}
	s.add([]frontier.Candidate{c}, s.links("a/2"))
	for range 2 {
		t := s.turn(2)
		if len(t.Tasks) != 2 {
			s.Fatalf("%d tasks, want 2", len(t.Tasks))
		}
		want(s, "the candidate of the task", t.Tasks[0].Candidate, c)
		want(s, "attempts, replaced, reason", t.Tasks[0], frontier.Task{Candidate: c, Print: t.Tasks[0].Print})
		if p := t.Tasks[0].Print; p == 0 || p == t.Tasks[1].Print {
			s.Fatalf("Print %x and %x: want two, neither of them zero", p, t.Tasks[1].Print)
		}
		s.finish(result(t))
		s.reopen()
	}
}

func acceptRefused(s *stage) {
	want(s, "Add", s.add(s.refused("trap", "a/1"), s.links("a/2")), frontier.Added{New: 1, Refused: 1})
	want(s, "the same again, refused or not", s.add(s.refused("trap", "a/1"), s.links("a/1")), frontier.Added{Known: 2})
	want(s, "a known URL refused", s.add(s.refused("scope", "a/2")), frontier.Added{Known: 1})
	t := s.turn(10)
	want(s, "the tasks", names(t.Tasks), "a/2")
	r := fetched(t)
	r.Found = slices.Concat(s.refused("scope", "b/1", "a/3"), s.links("b/1"))
	want(s, "Found", s.finish(r).Added, frontier.Added{Refused: 2, Known: 1})
	for range 2 {
		want(s, "state", s.claim(1, 1).State, frontier.Drained)
		st := s.stats()
		want(s, "Dropped", st.Outcomes[frontier.Dropped], 3)
		want(s, "Dropped for a trap", st.Reasons[frontier.Dropped]["trap"], 1)
		want(s, "Dropped by scope", st.Reasons[frontier.Dropped]["scope"], 2)
		want(s, "Discovered", st.Discovered, 4)
		s.reopen()
	}
}

func acceptUnseen(s *stage) {
	s.add(s.links("a/1"), s.refused("trap", "b/1"))
	for _, u := range []string{"a/2", "b/2", "c/1"} {
		want(s, "Seen "+u, s.seen(u), false)
	}
	// Seen may err towards false, so that nothing is asked about a/1 and b/1.
}

func capAll(s *stage) {
	want(s, "Add", s.add(s.links("a/1", "b/1")), frontier.Added{New: 2})
	t := s.turn(1)
	r := fetched(t)
	r.Found = s.links("b/1", "c/1", "c/2", "a/1", "d/1")
	want(s, "Found", s.finish(r).Added, frontier.Added{New: 1, Known: 2, Capped: 2})
	want(s, "Add, over the cap", s.add(s.links("c/2", "c/1")), frontier.Added{Known: 1, Capped: 1})
	for _, u := range []string{"c/2", "d/1"} {
		want(s, "Seen "+u, s.seen(u), false)
	}
	st := s.stats()
	want(s, "Capped", st.Capped[frontier.ReasonCapCrawl], 3)
	want(s, "Discovered", st.Discovered, 3)
	s.reopen()
	want(s, "Add after a reopen", s.add(s.links("c/2")), frontier.Added{Capped: 1})
	want(s, "Capped after a reopen", s.stats().Capped[frontier.ReasonCapCrawl], 4)
}

func capHost(s *stage) {
	added := s.add(s.links("a/1", "a/2", "a/3", "b/1", "a/4", "b/2", "b/3"))
	want(s, "Add", added, frontier.Added{New: 4, Capped: 3})
	want(s, "what was fetched", len(s.drain(0)), 4)
	want(s, "Add to a host whose URLs are closed", s.add(s.links("a/3", "c/1")), frontier.Added{New: 1, Capped: 1})
	s.reopen()
	want(s, "Add after a reopen", s.add(s.links("b/3", "c/2", "c/3")), frontier.Added{New: 1, Capped: 2})
}

func capSeeds(s *stage) {
	want(s, "Add", s.add(s.seeds("a/1", "a/2", "b/1")), frontier.Added{New: 3})
	want(s, "links", s.add(s.links("a/3", "c/1")), frontier.Added{Capped: 2})
	want(s, "a seed that was capped as a link", s.add(s.seeds("a/3")), frontier.Added{New: 1})
}

func capLifted(s *stage) {
	want(s, "Add", s.add(s.links("a/1", "a/2")), frontier.Added{New: 1, Capped: 1})
	s.close()
	s.open(frontier.Options{MaxURLs: 2})
	want(s, "Add with room for one more", s.add(s.links("a/1", "a/2", "a/3")), frontier.Added{New: 1, Known: 1, Capped: 1})
}

func seedsInOrder(s *stage) {
	cs := s.seeds("z/1", "a/1", "m/1")
	cs[1].Tag = "another"
	s.add(cs[:1], s.links("m/1"))
	s.add(cs[1:])
	t := s.turn(1)
	x := frontier.Seed{URL: s.url("b/1"), Tag: "tag", From: t.Tasks[0].URL.String()}
	r := fetched(t)
	r.Extend = []frontier.Seed{x}
	s.finish(r)
	s.add(s.seeds("c/1"))
	wanted := []frontier.Seed{
		{URL: s.url("z/1"), Tag: "tag"}, {URL: s.url("a/1"), Tag: "another"}, {URL: s.url("m/1"), Tag: "tag"}, x,
		{URL: s.url("c/1"), Tag: "tag"},
	}
	for range 2 {
		got, err := frontier.SeedsOf(s.Context(), s.f)
		if err != nil || !slices.Equal(got, wanted) {
			s.Fatalf("Seeds: %v, error %v; want %v", got, err, wanted)
		}
		s.reopen()
	}
}
