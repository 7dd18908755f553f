package frontiertest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// limit is the MaxSize of the rules that set one: small, but more than an engine needs for itself.
const limit = 8 << 20

// sizeRules are about the bound of what an engine keeps.
func sizeRules() []stage.Rule {
	o := frontier.Options{MaxSize: limit}
	return []stage.Rule{
		{Name: "size: it grows with what is kept, and stays over a restart", Test: sizeGrows},
		{Name: "size: near MaxSize Claim answers Full at once, whatever is due or out", Options: o, Test: sizeFull},
		{Name: "size: a claim that waits is answered Full", Options: o, Test: sizeWakes},
		{Name: "size: when Full, the turn that is out finishes with its links, and gets no more tasks", Options: o, Test: sizeFinishes},
		{Name: "size: links beyond MaxSize are capped for that reason first, and not marked seen", Test: sizeCapped,
			Options: frontier.Options{MaxSize: limit, MaxURLsPerAuthority: 1 << 40}},
		{Name: "size: with a larger MaxSize the next opening goes on, and nothing is lost", Options: o, Test: sizeLarger},
		{Name: "size: Drained is Drained, however little room is left", Options: o, Test: sizeDrained},
	}
}

// bulk returns links to one host with long paths that do not compress, those from number n on.
func bulk(s *stage.Stage, n, count int) []frontier.Candidate {
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
func fill(s *stage.Stage) int {
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
		stage.Want(s, "links added before it is Full", added, frontier.Added{New: step})
	}
	s.Fatalf("a frontier with MaxSize %d has taken 4 times that, says it has %d, and is not Full", int64(limit), s.Stats().Size)
	return 0
}

func sizeGrows(s *stage.Stage) {
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
	stage.Want(s, "state without a bound", s.Stats().State, frontier.Busy)
}

func sizeFull(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	s.Turn(1) // is out
	fill(s)
	begin := time.Now()
	for range 2 {
		c := s.ClaimWithin(9, 9, time.Hour)
		stage.Want(s, "turns", len(c.Turns), 0)
		stage.Want(s, "state", c.State, frontier.Full)
		stage.Want(s, "Stats.State", s.Stats().State, frontier.Full)
		s.NotDue("the frontier is full", "c")
		s.Reopen()
	}
	stage.Want(s, "time passed", time.Since(begin), 0)
}

func sizeWakes(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	t := s.Turn(1)
	r := stage.Result(t)
	r.Host = &frontier.HostUpdate{Condition: frontier.Refused, Reason: "because"}
	s.Finish(r)
	s.Steer(frontier.Park, "bulk")
	if _, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority("c")); err != nil {
		s.Fatal(err)
	}
	answer := s.Waiting(frontier.Want{MaxWait: time.Hour})
	fill(s)
	if c, err := answer(); err != nil || len(c.Turns) > 0 || c.State != frontier.Full {
		s.Fatalf("Claim: %+v, error %v; want Full", c, err)
	}
}

func sizeFinishes(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2"))
	t := s.Turn(2)
	fill(s)
	r := stage.Fetched(t, t.Tasks[0])
	r.Found, r.Keep, r.Want = s.Links(stage.Pages("new", 40)...), true, 5
	f := s.Finish(r)
	stage.Want(s, "links", f.Added, frontier.Added{New: 40})
	stage.Want(s, "more tasks", stage.Names(f.Tasks), "")
	r = stage.Fetched(t, t.Tasks[1])
	r.Found = s.Links(stage.Pages("newer", 40)...)
	stage.Want(s, "links", s.Finish(r).Added, frontier.Added{New: 40})
	stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 2)
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Full)
	s.Reopen()
	stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 2)
	stage.Want(s, "Queued", s.Host("new").Queued+s.Host("newer").Queued, 80)
}

func sizeCapped(s *stage.Stage) {
	n := fill(s)
	total := frontier.Added{New: n}
	for total.Capped == 0 {
		if total.New > 4*limit/1000 {
			s.Fatalf("a frontier with MaxSize %d has taken %d links of 1,150 octets, and says it has %d", int64(limit), total.New, s.Stats().Size)
		}
		added := s.Add(bulk(s, total.New, 100))
		stage.Want(s, "New and Capped", added.New+added.Capped, 100)
		total.New, total.Capped = total.New+added.New, total.Capped+added.Capped
	}
	added := s.Add(bulk(s, 1<<30, 100))
	stage.Want(s, "more", added, frontier.Added{Capped: 100})
	st := s.Stats()
	stage.Want(s, "Capped", st.Capped[frontier.ReasonCapSize], int64(total.Capped+100))
	stage.Want(s, "Capped for other reasons", st.Capped[frontier.ReasonCapHost], 0)
	stage.Want(s, "Discovered", st.Discovered, int64(total.New))
	seen, err := s.Frontier.Seen(s.Context(), stage.URLs(bulk(s, 1<<30, 1)))
	if err != nil || seen[0] {
		s.Fatalf("Seen of a capped link: %v, error %v", seen, err)
	}
	if st.Size > limit {
		s.Fatalf("Size is %d, and MaxSize %d", st.Size, int64(limit))
	}
	s.Reopen()
	stage.Want(s, "Capped after a reopen", s.Stats().Capped[frontier.ReasonCapSize], int64(total.Capped+100))
}

func sizeLarger(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	n := fill(s)
	s.Close()
	s.Open(frontier.Options{MaxSize: 3 * limit})
	st := s.Stats()
	stage.Want(s, "state", st.State, frontier.Busy)
	stage.Want(s, "Queued", st.Queued, int64(n+1))
	t := s.Turn(1)
	r := stage.Fetched(t)
	r.Found = bulk(s, n, 50)
	stage.Want(s, "links", s.Finish(r).Added, frontier.Added{New: 50})
	s.Close()
	s.Open(frontier.Options{})
	stage.Want(s, "Queued without a bound", s.Stats().Queued, int64(n+50))
	stage.Want(s, "turns", len(s.Claim(9, 9).Turns) > 0, true)
}

func sizeDrained(s *stage.Stage) {
	fill(s)
	s.Steer(frontier.Drop, "bulk")
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
	stage.Want(s, "Stats.State", s.Stats().State, frontier.Drained)
}
