package frontiertest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"curtsy/frontier"
)

// limit is the MaxSize of the rules that set one: small, but more than an engine needs for itself.
const limit = 8 << 20

// sizeRules are about the bound of what an engine keeps.
func sizeRules() []rule {
	o := frontier.Options{MaxSize: limit}
	return []rule{
		{name: "size: it grows with what is kept, and stays over a restart", test: sizeGrows},
		{name: "size: near MaxSize Claim answers Full at once, whatever is due or out", o: o, test: sizeFull},
		{name: "size: a claim that waits is answered Full", o: o, test: sizeWakes},
		{name: "size: when Full, the turn that is out finishes with its links, and gets no more tasks", o: o, test: sizeFinishes},
		{name: "size: links beyond MaxSize are capped for that reason first, and not marked seen", test: sizeCapped,
			o: frontier.Options{MaxSize: limit, MaxURLsPerAuthority: 1 << 40}},
		{name: "size: with a larger MaxSize the next opening goes on, and nothing is lost", o: o, test: sizeLarger},
		{name: "size: Drained is Drained, however little room is left", o: o, test: sizeDrained},
	}
}

// bulk returns links to one host with long paths that do not compress, those from number n on.
func (s *stage) bulk(n, count int) []frontier.Candidate {
	s.Helper()
	var us []string
	for i := n; i < n+count; i++ {
		u := "bulk/"
		for part := range 18 {
			u += fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i, part)))
		}
		us = append(us, u)
	}
	return s.links(us...)
}

// fill adds links until the frontier is Full, and returns their number.
func (s *stage) fill() int {
	s.Helper()
	const step = 50
	for n := 0; n < 4*limit/1000; n += step {
		if s.stats().State == frontier.Full {
			return n
		}
		added, err := s.f.Add(s.Context(), s.bulk(n, step))
		if err != nil {
			s.Fatalf("Add: %v", err)
		}
		want(s, "links added before it is Full", added, frontier.Added{New: step})
	}
	s.Fatalf("a frontier with MaxSize %d has taken 4 times that, says it has %d, and is not Full", int64(limit), s.stats().Size)
	return 0
}

func sizeGrows(s *stage) {
	last := s.stats().Size
	for n := range 3 {
		s.add(s.bulk(1000*n, 1000))
		size := s.stats().Size
		if size <= last {
			s.Fatalf("Size: %d, then %d with a thousand URLs more", last, size)
		}
		last = size
	}
	s.reopen()
	if size := s.stats().Size; size < last/2 {
		s.Fatalf("Size: %d, then %d after a reopen", last, size)
	}
	want(s, "state without a bound", s.stats().State, frontier.Busy)
}

func sizeFull(s *stage) {
	s.add(s.links("a/0", "b/0"))
	s.turn(1) // is out
	s.fill()
	begin := time.Now()
	for range 2 {
		c := s.claimWithin(9, 9, time.Hour)
		want(s, "turns", len(c.Turns), 0)
		want(s, "state", c.State, frontier.Full)
		want(s, "Stats.State", s.stats().State, frontier.Full)
		s.notDue("the frontier is full", "c")
		s.reopen()
	}
	want(s, "time passed", time.Since(begin), 0)
}

func sizeWakes(s *stage) {
	s.add(s.links("a/0"))
	t := s.turn(1)
	r := result(t)
	r.Host = &frontier.HostUpdate{Condition: frontier.Refused, Reason: "because"}
	s.finish(r)
	s.steer(frontier.Park, "bulk")
	if _, err := s.f.ClaimAuthority(s.Context(), s.auth("c")); err != nil {
		s.Fatal(err)
	}
	answer := s.waiting(frontier.Want{MaxWait: time.Hour})
	s.fill()
	if c, err := answer(); err != nil || len(c.Turns) > 0 || c.State != frontier.Full {
		s.Fatalf("Claim: %+v, error %v; want Full", c, err)
	}
}

func sizeFinishes(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2"))
	t := s.turn(2)
	s.fill()
	r := fetched(t, t.Tasks[0])
	r.Found, r.Keep, r.Want = s.links(pages("new", 40)...), true, 5
	f := s.finish(r)
	want(s, "links", f.Added, frontier.Added{New: 40})
	want(s, "more tasks", names(f.Tasks), "")
	r = fetched(t, t.Tasks[1])
	r.Found = s.links(pages("newer", 40)...)
	want(s, "links", s.finish(r).Added, frontier.Added{New: 40})
	want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], 2)
	want(s, "state", s.claim(1, 1).State, frontier.Full)
	s.reopen()
	want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], 2)
	want(s, "Queued", s.host("new").Queued+s.host("newer").Queued, 80)
}

func sizeCapped(s *stage) {
	n := s.fill()
	total := frontier.Added{New: n}
	for total.Capped == 0 {
		if total.New > 4*limit/1000 {
			s.Fatalf("a frontier with MaxSize %d has taken %d links of 1,150 octets, and says it has %d", int64(limit), total.New, s.stats().Size)
		}
		added := s.add(s.bulk(total.New, 100))
		want(s, "New and Capped", added.New+added.Capped, 100)
		total.New, total.Capped = total.New+added.New, total.Capped+added.Capped
	}
	added := s.add(s.bulk(1<<30, 100))
	want(s, "more", added, frontier.Added{Capped: 100})
	st := s.stats()
	want(s, "Capped", st.Capped[frontier.ReasonCapSize], int64(total.Capped+100))
	want(s, "Capped for other reasons", st.Capped[frontier.ReasonCapHost], 0)
	want(s, "Discovered", st.Discovered, int64(total.New))
	seen, err := s.f.Seen(s.Context(), urls(s.bulk(1<<30, 1)))
	if err != nil || seen[0] {
		s.Fatalf("Seen of a capped link: %v, error %v", seen, err)
	}
	if st.Size > limit {
		s.Fatalf("Size is %d, and MaxSize %d", st.Size, int64(limit))
	}
	s.reopen()
	want(s, "Capped after a reopen", s.stats().Capped[frontier.ReasonCapSize], int64(total.Capped+100))
}

func sizeLarger(s *stage) {
	s.add(s.links("a/0"))
	n := s.fill()
	s.close()
	s.open(frontier.Options{MaxSize: 3 * limit})
	st := s.stats()
	want(s, "state", st.State, frontier.Busy)
	want(s, "Queued", st.Queued, int64(n+1))
	t := s.turn(1)
	r := fetched(t)
	r.Found = s.bulk(n, 50)
	want(s, "links", s.finish(r).Added, frontier.Added{New: 50})
	s.close()
	s.open(frontier.Options{})
	want(s, "Queued without a bound", s.stats().Queued, int64(n+50))
	want(s, "turns", len(s.claim(9, 9).Turns) > 0, true)
}

func sizeDrained(s *stage) {
	s.fill()
	s.steer(frontier.Drop, "bulk")
	want(s, "state", s.claim(1, 1).State, frontier.Drained)
	want(s, "Stats.State", s.stats().State, frontier.Drained)
}
