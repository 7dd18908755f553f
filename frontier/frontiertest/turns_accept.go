package frontiertest

import (
	"slices"
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// acceptRules are about candidates: put-if-new, refusals, caps and seeds.
func acceptRules() []stage.Rule {
	return []stage.Rule{
		{Name: "accept: of all candidates with one key one is accepted, ever", Test: acceptOnce},
		{Name: "accept: links of two pages to one URL are accepted once", Test: acceptLinksOnce},
		{Name: "accept: a task carries what was accepted", Test: acceptCarries},
		{Name: "accept: a refused candidate is Dropped with its reason and never a task", Test: acceptRefused},
		{Name: "accept: Seen is false for what was never offered", Test: acceptUnseen},
		{Name: "cap: a link over MaxURLs is counted and not marked seen", Options: frontier.Options{MaxURLs: 3}, Test: capAll},
		{Name: "cap: a link over MaxURLsPerAuthority leaves other authorities alone",
			Options: frontier.Options{MaxURLsPerAuthority: 2}, Test: capHost},
		{Name: "cap: seeds are not capped", Options: frontier.Options{MaxURLs: 1, MaxURLsPerAuthority: 1}, Test: capSeeds},
		{Name: "cap: a capped link is accepted when a later run has room", Options: frontier.Options{MaxURLs: 1}, Test: capLifted},
		{Name: "seeds: kept in order, new or not, with the extensions of scope", Test: seedsInOrder},
	}
}

func acceptOnce(s *stage.Stage) {
	stage.Want(s, "two of one key in a batch", s.Add(s.Links("a/1", "a/2", "a/1")), frontier.Added{New: 2, Known: 1})
	stage.Want(s, "again in another batch", s.Add(s.Links("a/2", "a/3")), frontier.Added{New: 1, Known: 1})
	t := s.Turn(1)
	stage.Want(s, "while it is leased", s.Add(s.Links("a/1")), frontier.Added{Known: 1})
	r := stage.Fetched(t)
	r.Found = s.Links("a/1", "a/2", "b/1")
	stage.Want(s, "in a page's links", s.Finish(r).Added, frontier.Added{New: 1, Known: 2})
	stage.Want(s, "after it is closed", s.Add(s.Links("a/1")), frontier.Added{Known: 1})
	s.Reopen()
	stage.Want(s, "after a reopen", s.Add(s.Links("a/1", "a/2", "a/3", "b/1")), frontier.Added{Known: 4})
	us := s.Drain(0)
	slices.Sort(us)
	stage.Want(s, "what is left", strings.Join(us, " "), "a/2 a/3 b/1")
	stage.Want(s, "Discovered", s.Stats().Discovered, 4)
}

func acceptLinksOnce(s *stage.Stage) {
	s.Add(s.Seeds("a/1", "b/1"))
	c := s.Claim(2, 1)
	stage.Want(s, "turns", len(c.Turns), 2)
	var rs []frontier.Result
	for _, t := range c.Turns {
		r := stage.Fetched(t)
		r.Found = s.Links("c/1", "a/2")
		rs = append(rs, r)
	}
	fs, err := s.Frontier.Finish(s.Context(), rs)
	if err != nil || len(fs) != 2 || fs[0].Err != nil || fs[1].Err != nil {
		s.Fatalf("Finish: %+v, error %v", fs, err)
	}
	stage.Want(s, "the first page's links", fs[0].Added, frontier.Added{New: 2})
	stage.Want(s, "the second page's links", fs[1].Added, frontier.Added{Known: 2})
	stage.Want(s, "tasks", len(s.Drain(0)), 2)
}

func acceptCarries(s *stage.Stage) {
	c := frontier.Candidate{
		URL: s.URL("a/1"), Kind: frontier.KindEmbed, Via: "http://b.test/page", Depth: 7, Hops: 3, Embeds: 2, Away: 1,
		Seed: "http://c.test/", Tag: "a tag \x00 of any octets é",
	}
	s.Add([]frontier.Candidate{c}, s.Links("a/2"))
	for range 2 {
		t := s.Turn(2)
		if len(t.Tasks) != 2 {
			s.Fatalf("%d tasks, want 2", len(t.Tasks))
		}
		stage.Want(s, "the candidate of the task", t.Tasks[0].Candidate, c)
		stage.Want(s, "attempts, replaced, reason", t.Tasks[0], frontier.Task{Candidate: c, Print: t.Tasks[0].Print})
		if p := t.Tasks[0].Print; p == 0 || p == t.Tasks[1].Print {
			s.Fatalf("Print %x and %x: want two, neither of them zero", p, t.Tasks[1].Print)
		}
		s.Finish(stage.Result(t))
		s.Reopen()
	}
}

func acceptRefused(s *stage.Stage) {
	stage.Want(s, "Add", s.Add(s.Refused("trap", "a/1"), s.Links("a/2")), frontier.Added{New: 1, Refused: 1})
	stage.Want(s, "the same again, refused or not", s.Add(s.Refused("trap", "a/1"), s.Links("a/1")), frontier.Added{Known: 2})
	stage.Want(s, "a known URL refused", s.Add(s.Refused("scope", "a/2")), frontier.Added{Known: 1})
	t := s.Turn(10)
	stage.Want(s, "the tasks", stage.Names(t.Tasks), "a/2")
	r := stage.Fetched(t)
	r.Found = slices.Concat(s.Refused("scope", "b/1", "a/3"), s.Links("b/1"))
	stage.Want(s, "Found", s.Finish(r).Added, frontier.Added{Refused: 2, Known: 1})
	for range 2 {
		stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
		st := s.Stats()
		stage.Want(s, "Dropped", st.Outcomes[frontier.Dropped], 3)
		stage.Want(s, "Dropped for a trap", st.Reasons[frontier.Dropped]["trap"], 1)
		stage.Want(s, "Dropped by scope", st.Reasons[frontier.Dropped]["scope"], 2)
		stage.Want(s, "Discovered", st.Discovered, 4)
		s.Reopen()
	}
}

func acceptUnseen(s *stage.Stage) {
	s.Add(s.Links("a/1"), s.Refused("trap", "b/1"))
	for _, u := range []string{"a/2", "b/2", "c/1"} {
		stage.Want(s, "Seen "+u, s.Seen(u), false)
	}
	// Seen may err towards false, so that nothing is asked about a/1 and b/1.
}

func capAll(s *stage.Stage) {
	stage.Want(s, "Add", s.Add(s.Links("a/1", "b/1")), frontier.Added{New: 2})
	t := s.Turn(1)
	r := stage.Fetched(t)
	r.Found = s.Links("b/1", "c/1", "c/2", "a/1", "d/1")
	stage.Want(s, "Found", s.Finish(r).Added, frontier.Added{New: 1, Known: 2, Capped: 2})
	stage.Want(s, "Add, over the cap", s.Add(s.Links("c/2", "c/1")), frontier.Added{Known: 1, Capped: 1})
	for _, u := range []string{"c/2", "d/1"} {
		stage.Want(s, "Seen "+u, s.Seen(u), false)
	}
	st := s.Stats()
	stage.Want(s, "Capped", st.Capped[frontier.ReasonCapCrawl], 3)
	stage.Want(s, "Discovered", st.Discovered, 3)
	s.Reopen()
	stage.Want(s, "Add after a reopen", s.Add(s.Links("c/2")), frontier.Added{Capped: 1})
	stage.Want(s, "Capped after a reopen", s.Stats().Capped[frontier.ReasonCapCrawl], 4)
}

func capHost(s *stage.Stage) {
	added := s.Add(s.Links("a/1", "a/2", "a/3", "b/1", "a/4", "b/2", "b/3"))
	stage.Want(s, "Add", added, frontier.Added{New: 4, Capped: 3})
	stage.Want(s, "what was fetched", len(s.Drain(0)), 4)
	stage.Want(s, "Add to a host whose URLs are closed", s.Add(s.Links("a/3", "c/1")), frontier.Added{New: 1, Capped: 1})
	s.Reopen()
	stage.Want(s, "Add after a reopen", s.Add(s.Links("b/3", "c/2", "c/3")), frontier.Added{New: 1, Capped: 2})
}

func capSeeds(s *stage.Stage) {
	stage.Want(s, "Add", s.Add(s.Seeds("a/1", "a/2", "b/1")), frontier.Added{New: 3})
	stage.Want(s, "links", s.Add(s.Links("a/3", "c/1")), frontier.Added{Capped: 2})
	stage.Want(s, "a seed that was capped as a link", s.Add(s.Seeds("a/3")), frontier.Added{New: 1})
}

func capLifted(s *stage.Stage) {
	stage.Want(s, "Add", s.Add(s.Links("a/1", "a/2")), frontier.Added{New: 1, Capped: 1})
	s.Close()
	s.Open(frontier.Options{MaxURLs: 2})
	stage.Want(s, "Add with room for one more", s.Add(s.Links("a/1", "a/2", "a/3")), frontier.Added{New: 1, Known: 1, Capped: 1})
}

func seedsInOrder(s *stage.Stage) {
	cs := s.Seeds("z/1", "a/1", "m/1")
	cs[1].Tag = "another"
	s.Add(cs[:1], s.Links("m/1"))
	s.Add(cs[1:])
	t := s.Turn(1)
	x := frontier.Seed{URL: s.URL("b/1"), Tag: "tag", From: t.Tasks[0].URL.String()}
	r := stage.Fetched(t)
	r.Extend = []frontier.Seed{x}
	s.Finish(r)
	s.Add(s.Seeds("c/1"))
	wanted := []frontier.Seed{
		{URL: s.URL("z/1"), Tag: "tag"}, {URL: s.URL("a/1"), Tag: "another"}, {URL: s.URL("m/1"), Tag: "tag"}, x,
		{URL: s.URL("c/1"), Tag: "tag"},
	}
	for range 2 {
		got, err := frontier.SeedsOf(s.Context(), s.Frontier)
		if err != nil || !slices.Equal(got, wanted) {
			s.Fatalf("Seeds: %v, error %v; want %v", got, err, wanted)
		}
		s.Reopen()
	}
}
