package frontiertest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/frontier"
)

// acceptRules are about candidates: put-if-new, refusals, caps and seeds.
var acceptRules = []rule{
	{Name: "accept: of all candidates with one key one is accepted, ever", Test: func(s *Stage) {
		Want(s, "two of one key in a batch", s.Add(s.Links("a/1", "a/2", "a/1")), frontier.Added{New: 2, Known: 1})
		Want(s, "again in another batch", s.Add(s.Links("a/2", "a/3")), frontier.Added{New: 1, Known: 1})
		t := s.Turn(1)
		Want(s, "while it is leased", s.Add(s.Links("a/1")), frontier.Added{Known: 1})
		Want(s, "in a page's links", s.end(t, frontier.Result{Done: done(t.Tasks...), Found: s.Links("a/1", "a/2", "b/1")}).Added, frontier.Added{New: 1, Known: 2})
		Want(s, "after it is closed", s.Add(s.Links("a/1")), frontier.Added{Known: 1})
		s.Reopen()
		Want(s, "after a reopen", s.Add(s.Links("a/1", "a/2", "a/3", "b/1")), frontier.Added{Known: 4})
		us := s.Drain(0)
		slices.Sort(us)
		Want(s, "what is left", strings.Join(us, " "), "a/2 a/3 b/1")
		Want(s, "Discovered", s.Stats().Discovered, 4)
	}},
	{Name: "accept: links of two pages to one URL are accepted once", Test: func(s *Stage) {
		s.Add(s.Seeds("a/1", "b/1"))
		c := s.Claim(2, 1)
		Want(s, "turns", len(c.Turns), 2)
		var rs []frontier.Result
		for _, t := range c.Turns {
			r := Fetched(t)
			r.Found = s.Links("c/1", "a/2")
			rs = append(rs, r)
		}
		fs, err := s.Frontier.Finish(s.Context(), rs)
		if err != nil || len(fs) != 2 || fs[0].Err != nil || fs[1].Err != nil {
			s.Fatalf("Finish: %+v, error %v", fs, err)
		}
		Want(s, "the first page's links", fs[0].Added, frontier.Added{New: 2})
		Want(s, "the second page's links", fs[1].Added, frontier.Added{Known: 2})
		Want(s, "tasks", len(s.Drain(0)), 2)
	}},
	{Name: "accept: a task carries what was accepted", Test: func(s *Stage) {
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
			Want(s, "the candidate of the task", t.Tasks[0].Candidate, c)
			Want(s, "attempts, replaced, reason", t.Tasks[0], frontier.Task{Candidate: c, Print: t.Tasks[0].Print})
			if p := t.Tasks[0].Print; p == 0 || p == t.Tasks[1].Print {
				s.Fatalf("Print %x and %x: want two, neither of them zero", p, t.Tasks[1].Print)
			}
			s.Finish(resultOf(t))
			s.Reopen()
		}
	}},
	{Name: "accept: a refused candidate is Dropped with its reason and never a task", Test: func(s *Stage) {
		Want(s, "Add", s.Add(s.Refused("trap", "a/1"), s.Links("a/2")), frontier.Added{New: 1, Refused: 1})
		Want(s, "the same again, refused or not", s.Add(s.Refused("trap", "a/1"), s.Links("a/1")), frontier.Added{Known: 2})
		Want(s, "a known URL refused", s.Add(s.Refused("scope", "a/2")), frontier.Added{Known: 1})
		t := s.Turn(10)
		Want(s, "the tasks", Names(t.Tasks), "a/2")
		Want(s, "Found", s.end(t, frontier.Result{
			Done: done(t.Tasks...), Found: slices.Concat(s.Refused("scope", "b/1", "a/3"), s.Links("b/1")),
		}).Added, frontier.Added{Refused: 2, Known: 1})
		for range 2 {
			Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
			st := s.Stats()
			Want(s, "Dropped", st.Outcomes[frontier.Dropped], 3)
			Want(s, "Dropped for a trap", st.Reasons[frontier.Dropped]["trap"], 1)
			Want(s, "Dropped by scope", st.Reasons[frontier.Dropped]["scope"], 2)
			Want(s, "Discovered", st.Discovered, 4)
			s.Reopen()
		}
	}},
	{Name: "accept: Seen is false for what was never offered", Test: func(s *Stage) {
		s.Add(s.Links("a/1"), s.Refused("trap", "b/1"))
		for _, u := range []string{"a/2", "b/2", "c/1"} {
			Want(s, "Seen "+u, s.Seen(u), false)
		}
		// Seen may err towards false, so that nothing is asked about a/1 and b/1.
	}},
	{Name: "cap: a link over MaxURLs is counted and not marked seen", Options: frontier.Options{MaxURLs: 3}, Test: func(s *Stage) {
		Want(s, "Add", s.Add(s.Links("a/1", "b/1")), frontier.Added{New: 2})
		t := s.Turn(1)
		Want(s, "Found", s.end(t, frontier.Result{
			Done: done(t.Tasks...), Found: s.Links("b/1", "c/1", "c/2", "a/1", "d/1"),
		}).Added, frontier.Added{New: 1, Known: 2, Capped: 2})
		Want(s, "Add, over the cap", s.Add(s.Links("c/2", "c/1")), frontier.Added{Known: 1, Capped: 1})
		for _, u := range []string{"c/2", "d/1"} {
			Want(s, "Seen "+u, s.Seen(u), false)
		}
		st := s.Stats()
		Want(s, "Capped", st.Capped[frontier.ReasonCapCrawl], 3)
		Want(s, "Discovered", st.Discovered, 3)
		s.Reopen()
		Want(s, "Add after a reopen", s.Add(s.Links("c/2")), frontier.Added{Capped: 1})
		Want(s, "Capped after a reopen", s.Stats().Capped[frontier.ReasonCapCrawl], 4)
	}},
	{Name: "cap: a link over MaxURLsPerAuthority leaves other authorities alone", Options: frontier.Options{MaxURLsPerAuthority: 2}, Test: func(s *Stage) {
		added := s.Add(s.Links("a/1", "a/2", "a/3", "b/1", "a/4", "b/2", "b/3"))
		Want(s, "Add", added, frontier.Added{New: 4, Capped: 3})
		Want(s, "what was fetched", len(s.Drain(0)), 4)
		Want(s, "Add to a host whose URLs are closed", s.Add(s.Links("a/3", "c/1")), frontier.Added{New: 1, Capped: 1})
		s.Reopen()
		Want(s, "Add after a reopen", s.Add(s.Links("b/3", "c/2", "c/3")), frontier.Added{New: 1, Capped: 2})
	}},
	{Name: "cap: seeds are not capped", Options: frontier.Options{MaxURLs: 1, MaxURLsPerAuthority: 1}, Test: func(s *Stage) {
		Want(s, "Add", s.Add(s.Seeds("a/1", "a/2", "b/1")), frontier.Added{New: 3})
		Want(s, "links", s.Add(s.Links("a/3", "c/1")), frontier.Added{Capped: 2})
		Want(s, "a seed that was capped as a link", s.Add(s.Seeds("a/3")), frontier.Added{New: 1})
	}},
	{Name: "seeds: kept in order, new or not, with the extensions of scope", Test: func(s *Stage) {
		cs := s.Seeds("z/1", "a/1", "m/1")
		cs[1].Tag = "another"
		s.Add(cs[:1], s.Links("m/1"))
		s.Add(cs[1:])
		t := s.Turn(1)
		x := frontier.Seed{URL: s.URL("b/1"), Tag: "tag", From: t.Tasks[0].URL.String()}
		s.end(t, frontier.Result{Done: done(t.Tasks...), Extend: []frontier.Seed{x}})
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
	}},
}

// capRules are about the caps by registrable domain and by reason; acceptRules have those of the crawl and of hosts.
var capRules = []rule{
	{Name: "cap: a link over MaxURLsPerDomain is capped, over all hosts, ports and schemes of the domain", Options: frontier.Options{MaxURLsPerDomain: 3}, Test: func(s *Stage) {
		Want(s, "Add", s.Add(s.Links("x.a/1", "y.a/1", "a/1", "z.a/1", "x.b/1", "a/2")), frontier.Added{New: 4, Capped: 2})
		Want(s, "a port of it", s.Add(link(s, "http://x.a.test:8080/")), frontier.Added{Capped: 1})
		Want(s, "a scheme of it", s.Add(link(s, "https://x.a.test/")), frontier.Added{Capped: 1})
		Want(s, "what is known", s.Add(s.Links("y.a/1")), frontier.Added{Known: 1})
		Want(s, "Seen", s.Seen("z.a/1"), false)
		capped(s, 0, 4, 0)
		Want(s, "Discovered", s.Stats().Discovered, 4)
		r := Fetched(s.Turn(1))
		r.Found = s.Links("q.r.a/1", "y.b/1", "z.b/1", "z.b/2")
		Want(s, "Found", s.Finish(r).Added, frontier.Added{New: 2, Capped: 2})
		capped(s, 0, 6, 0)
	}},
	{Name: "cap: an address is a domain of its own", Options: frontier.Options{MaxURLsPerDomain: 1}, Test: func(s *Stage) {
		for _, u := range []string{"http://192.0.2.1/", "http://192.0.2.2/", "http://[2001:db8::1]/", "http://localhost/"} {
			Want(s, "the first of "+u, s.Add(link(s, u)), frontier.Added{New: 1})
			Want(s, "the second", s.Add(link(s, u+"2")), frontier.Added{Capped: 1})
		}
	}},
	{Name: "cap: a domain is full after a reopen too, and its closed URLs count", Options: frontier.Options{MaxURLsPerDomain: 2}, Test: func(s *Stage) {
		s.Add(s.Links("x.a/1", "y.a/1"))
		s.Drain(0)
		Want(s, "links", s.Add(s.Links("z.a/1", "b/1")), frontier.Added{New: 1, Capped: 1})
		s.Reopen()
		Want(s, "after a reopen", s.Add(s.Links("z.a/1", "c.b/1", "c.b/2")), frontier.Added{New: 1, Capped: 2})
		capped(s, 0, 3, 0)
		if s.Harness.Crash != nil {
			s.Crash()
			Want(s, "after a crash", s.Add(s.Links("z.a/1", "c.b/2")), frontier.Added{Capped: 2})
		}
	}},
	{Name: "cap: a domain that a later run gives room takes more", Options: frontier.Options{MaxURLsPerDomain: 1}, Test: func(s *Stage) {
		Want(s, "Add", s.Add(s.Links("x.a/1", "y.a/1")), frontier.Added{New: 1, Capped: 1})
		s.Reopen(frontier.Options{MaxURLsPerDomain: 2})
		Want(s, "with more room", s.Add(s.Links("y.a/1", "z.a/1")), frontier.Added{New: 1, Capped: 1})
		s.Reopen(frontier.Options{})
		Want(s, "with no cap", s.Add(s.Links("z.a/1")), frontier.Added{New: 1})
		capped(s, 0, 2, 0)
	}},
	{Name: "cap: seeds are not capped by domain, but count", Options: frontier.Options{MaxURLsPerDomain: 1}, Test: func(s *Stage) {
		Want(s, "seeds", s.Add(s.Seeds("x.a/1", "y.a/1")), frontier.Added{New: 2})
		Want(s, "a link", s.Add(s.Links("z.a/1", "b/1")), frontier.Added{New: 1, Capped: 1})
	}},
	{Name: "cap: refused candidates and retries count for no cap", Options: frontier.Options{MaxURLs: 2, MaxURLsPerDomain: 2, MaxURLsPerAuthority: 2}, Test: func(s *Stage) {
		Want(s, "Add", s.Add(s.Refused("trap", "a/8", "a/9"), s.Links("a/f1")), frontier.Added{New: 1, Refused: 2})
		s.CloseAll()
		s.Retry(frontier.Retrial{Outcome: frontier.Failed})
		Want(s, "room for one more", s.Add(s.Links("a/1", "a/2")), frontier.Added{New: 1, Capped: 1})
		Want(s, "a refused one, over the cap", s.Add(s.Refused("trap", "a/7")), frontier.Added{Refused: 1})
	}},
	{Name: "cap: a link over several caps is counted for the first of them", Options: frontier.Options{MaxURLs: 4, MaxURLsPerDomain: 2, MaxURLsPerAuthority: 1}, Test: func(s *Stage) {
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
	}},
}

// capped fails unless so many links were capped, by crawl, domain and host.
func capped(s *Stage, crawl, domain, host int64) {
	s.Helper()
	c := s.Stats().Capped
	Want(s, "Capped by crawl, domain and host",
		[3]int64{c[frontier.ReasonCapCrawl], c[frontier.ReasonCapDomain], c[frontier.ReasonCapHost]}, [3]int64{crawl, domain, host})
}

// link returns a link to any URL.
func link(s *Stage, url string) []frontier.Candidate {
	s.Helper()
	cs := s.Links("a/0")
	cs[0].URL = s.Parse(url)
	return cs
}

// seedRules are about the list of seeds, read one by one.
var seedRules = []rule{
	{Name: "seeds: all of them come, one by one, in the order in which they were added", Test: func(s *Stage) {
		Want(s, "seeds of a new frontier", len(eachSeed(s, func(int) {})), 0)
		cs := append(manySeeds(s), s.Seeds("b/1")...)
		s.Add(cs)
		var wanted []frontier.Seed
		for _, c := range cs {
			wanted = append(wanted, frontier.Seed{URL: c.URL, Tag: c.Tag})
		}
		for range 2 {
			if got := eachSeed(s, func(int) {}); !slices.Equal(got, wanted) {
				s.Fatalf("%d seeds, want %d; or another order", len(got), len(wanted))
			}
			s.Reopen()
		}
	}},
	{Name: "seeds: the frontier can be used between two of them, and each of before comes once", Test: func(s *Stage) {
		s.Add(manySeeds(s))
		before := eachSeed(s, func(int) {})
		all := eachSeed(s, func(n int) {
			if n%2000 != 1 {
				return
			}
			r := Fetched(s.Turn(1))
			r.Extend = []frontier.Seed{{URL: s.URL("b/1"), From: fmt.Sprint(n)}}
			s.Finish(r)
			s.Add(s.Seeds(fmt.Sprintf("c/%d", n)))
		})
		if len(all) < len(before) || !slices.Equal(all[:len(before)], before) {
			s.Fatalf("%d seeds, want the %d of before and those added since", len(all), len(before))
		}
		met := map[frontier.Seed]bool{}
		for _, x := range all {
			if met[x] {
				s.Fatalf("%v twice", x)
			}
			met[x] = true
		}
	}},
	{Name: "seeds: whoever has enough of them gets no more", Test: func(s *Stage) {
		s.Add(s.Seeds("a/1", "b/1", "c/1"))
		n := 0
		for _, err := range s.Frontier.AllSeeds(s.Context()) {
			if n++; err != nil || n == 2 {
				break
			}
		}
		Want(s, "seeds", n, 2)
		s.Add(s.Seeds("d/1"))
	}},
}

// manySeeds are more than an engine would read at once.
func manySeeds(s *Stage) []frontier.Candidate {
	var names []string
	for i := range 9000 {
		names = append(names, fmt.Sprintf("a/%d", i))
	}
	return s.Seeds(names...)
}

// eachSeed calls f for the seeds as AllSeeds yields them, and returns them.
func eachSeed(s *Stage, f func(n int)) (all []frontier.Seed) {
	s.Helper()
	for x, err := range s.Frontier.AllSeeds(s.Context()) {
		if err != nil {
			s.Fatalf("AllSeeds after %d: %v", len(all), err)
		}
		all = append(all, x)
		f(len(all))
	}
	return all
}

// limit is the MaxSize of the rules that set one: small, but more than an engine needs for itself.
const limit = 8 << 20

// sizeRules are about the bound of what an engine keeps.
var sizeRules = []rule{
	{Name: "size: it grows with what is kept, and stays over a restart", Test: func(s *Stage) {
		last := s.Stats().Size
		for n := range 3 {
			s.Add(bulk(s, 1000*n, 1000))
			size := s.Stats().Size
			if size <= last {
				s.Fatalf("Size: %d, then %d with a thousand URLs more", last, size)
			}
			last = size
		}
		s.Reopen()
		if size := s.Stats().Size; size < last/2 {
			s.Fatalf("Size: %d, then %d after a reopen", last, size)
		}
		Want(s, "state without a bound", s.Stats().State, frontier.Busy)
	}},
	{Name: "size: near MaxSize Claim answers Full at once, whatever is due or out", Options: frontier.Options{MaxSize: limit}, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		s.Turn(1) // is out
		fill(s)
		begin := time.Now()
		for range 2 {
			c := s.ClaimWithin(9, 9, time.Hour)
			Want(s, "turns", len(c.Turns), 0)
			Want(s, "state", c.State, frontier.Full)
			Want(s, "Stats.State", s.Stats().State, frontier.Full)
			s.NotDue("the frontier is full", "c")
			s.Reopen()
		}
		Want(s, "time passed", time.Since(begin), 0)
	}},
	{Name: "size: a claim that waits is answered Full", Options: frontier.Options{MaxSize: limit}, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		t := s.Turn(1)
		s.end(t, frontier.Result{Host: &frontier.HostUpdate{Condition: frontier.Refused, Reason: "because"}})
		s.Steer(frontier.Park, "bulk")
		s.Alone(s.Authority("c"))
		answer := s.Waiting(frontier.Want{MaxWait: time.Hour})
		fill(s)
		s.Ends(answer, frontier.Full)
	}},
	{Name: "size: when Full, the turn that is out finishes with its links, and gets no more tasks", Options: frontier.Options{MaxSize: limit}, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2"))
		t := s.Turn(2)
		fill(s)
		f := s.end(t, frontier.Result{Done: done(t.Tasks[0]), Found: s.Links(Pages("new", 40)...), Keep: true, Want: 5})
		Want(s, "links", f.Added, frontier.Added{New: 40})
		Want(s, "more tasks", Names(f.Tasks), "")
		Want(s, "links", s.end(t, frontier.Result{Done: done(t.Tasks[1]), Found: s.Links(Pages("newer", 40)...)}).Added, frontier.Added{New: 40})
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 2)
		Want(s, "state", s.Claim(1, 1).State, frontier.Full)
		s.Reopen()
		Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 2)
		Want(s, "Queued", s.Host("new").Queued+s.Host("newer").Queued, 80)
	}},
	{Name: "size: links beyond MaxSize are capped for that reason first, and not marked seen", Options: frontier.Options{MaxSize: limit, MaxURLsPerAuthority: 1 << 40}, Test: func(s *Stage) {
		n := fill(s)
		total := frontier.Added{New: n}
		for total.Capped == 0 {
			if total.New > 4*limit/1000 {
				s.Fatalf("a frontier with MaxSize %d has taken %d links of 1,150 octets, and says it has %d", int64(limit), total.New, s.Stats().Size)
			}
			added := s.Add(bulk(s, total.New, 100))
			Want(s, "New and Capped", added.New+added.Capped, 100)
			total.New, total.Capped = total.New+added.New, total.Capped+added.Capped
		}
		added := s.Add(bulk(s, 1<<30, 100))
		Want(s, "more", added, frontier.Added{Capped: 100})
		st := s.Stats()
		Want(s, "Capped", st.Capped[frontier.ReasonCapSize], int64(total.Capped+100))
		Want(s, "Capped for other reasons", st.Capped[frontier.ReasonCapHost], 0)
		Want(s, "Discovered", st.Discovered, int64(total.New))
		seen, err := s.Frontier.Seen(s.Context(), urlsOf(bulk(s, 1<<30, 1)))
		if err != nil || seen[0] {
			s.Fatalf("Seen of a capped link: %v, error %v", seen, err)
		}
		if st.Size > limit {
			s.Fatalf("Size is %d, and MaxSize %d", st.Size, int64(limit))
		}
		s.Reopen()
		Want(s, "Capped after a reopen", s.Stats().Capped[frontier.ReasonCapSize], int64(total.Capped+100))
	}},
	{Name: "size: with a larger MaxSize the next opening goes on, and nothing is lost", Options: frontier.Options{MaxSize: limit}, Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		n := fill(s)
		s.Reopen(frontier.Options{MaxSize: 3 * limit})
		st := s.Stats()
		Want(s, "state", st.State, frontier.Busy)
		Want(s, "Queued", st.Queued, int64(n+1))
		t := s.Turn(1)
		Want(s, "links", s.end(t, frontier.Result{Done: done(t.Tasks...), Found: bulk(s, n, 50)}).Added, frontier.Added{New: 50})
		s.Reopen(frontier.Options{})
		Want(s, "Queued without a bound", s.Stats().Queued, int64(n+50))
		Want(s, "turns", len(s.Claim(9, 9).Turns) > 0, true)
	}},
	{Name: "size: Drained is Drained, however little room is left", Options: frontier.Options{MaxSize: limit}, Test: func(s *Stage) {
		fill(s)
		s.Steer(frontier.Drop, "bulk")
		Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
		Want(s, "Stats.State", s.Stats().State, frontier.Drained)
	}},
}

// bulk returns links to one host with long paths that do not compress, those from number n on.
func bulk(s *Stage, n, count int) []frontier.Candidate {
	s.Helper()
	var us []string
	for i := n; i < n+count; i++ {
		u := "bulk/"
		for part := range 18 {
			u += fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i, part)))
		}
		us = append(us, u)
	}
	return s.Links(us...)
}

// fill adds links until the frontier is Full, and returns their number.
func fill(s *Stage) int {
	s.Helper()
	const step = 50
	for n := 0; n < 4*limit/1000; n += step {
		if s.Stats().State == frontier.Full {
			return n
		}
		added, err := s.Frontier.Add(s.Context(), bulk(s, n, step))
		if err != nil {
			s.Fatalf("Add: %v", err)
		}
		Want(s, "links added before it is Full", added, frontier.Added{New: step})
	}
	s.Fatalf("a frontier with MaxSize %d has taken 4 times that, says it has %d, and is not Full", int64(limit), s.Stats().Size)
	return 0
}
