package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"curtsy/frontier"
)

// suspectRules are about URLs that may bring the process down each time they are fetched.
func suspectRules() []rule {
	return []rule{
		{name: "suspect: what was in flight at an unclean stop comes last of its host, alone, and says so", crash: true, test: suspectLast},
		{name: "suspect: what a turn brought but was not in flight yet is none", crash: true, test: suspectFirst},
		{name: "suspect: with a width of two, the first two of the turn are", crash: true, test: suspectWidth},
		{name: "suspect: with Keep, the first that is not settled yet", crash: true, test: suspectKeep},
		{name: "suspect: after a clean stop nothing is", test: suspectClean},
		{name: "suspect: a lease without tasks makes none", crash: true, test: suspectNoTask},
		{name: "suspect: one at a time in the whole frontier, while other hosts go on", crash: true, test: suspectOne},
		{name: "suspect: a turn with one brings no more tasks", crash: true, test: suspectNoMore},
		{name: "suspect: of two stops only while no other lease is out, and then no other turn", crash: true, test: suspectAlone},
	}
}

// fall lets a turn's lease be recorded, and crashes.
func (s *stage) fall() {
	s.Helper()
	s.sleep(frontier.GroupDelay + time.Millisecond)
	s.crash()
}

// accuse makes the first task of every host that is due a suspect: all are in flight at once.
func (s *stage) accuse(hosts int) {
	s.Helper()
	want(s, "turns", len(s.claim(hosts, 1).Turns), hosts)
	s.fall()
}

// nothing fails if a turn is given. A lease is out, so that Claim has to wait.
func (s *stage) nothing(what string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	c, err := s.f.Claim(ctx, frontier.Want{Hosts: 9, Tasks: 9, MaxWait: frontier.Never})
	if !errors.Is(err, context.DeadlineExceeded) {
		s.Fatalf("Claim gives %d turns, state %d, error %v; want it to wait: %s", len(c.Turns), c.State, err, what)
	}
}

// stops returns the tasks with their stops: "a/1:2 a/2:0".
func stops(ts []frontier.Task) string {
	var us []string
	for _, t := range ts {
		us = append(us, fmt.Sprintf("%s:%d", short(t.URL), t.Stops))
	}
	return strings.Join(us, " ")
}

func suspectLast(s *stage) {
	s.add(s.links(pages("a", 4)...))
	s.turn(1)
	s.fall()
	want(s, "Suspects", s.stats().Suspects, 1)
	want(s, "Queued", s.host("a").Queued, 4)
	t := s.turn(9)
	want(s, "the first turn", stops(t.Tasks), "a/1:0 a/2:0 a/3:0")
	s.finish(fetched(t, t.Tasks[0]))
	t = s.turn(9)
	want(s, "the second turn", stops(t.Tasks), "a/2:0 a/3:0")
	r := fetched(t, t.Tasks[0])
	r.Found = s.links("a/4")
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Minute}}
	s.finish(r)
	s.sleep(time.Minute)
	t = s.turn(1)
	s.finish(fetched(t))
	other := s.turn(1)
	s.finish(fetched(other))
	if us := names(t.Tasks) + " " + names(other.Tasks); us != "a/3 a/4" && us != "a/4 a/3" {
		s.Fatalf("then came %s; want the link and the deferred one, before the suspect", us)
	}
	t = s.turn(9)
	want(s, "the last turn", stops(t.Tasks), "a/0:1")
	want(s, "attempts", t.Tasks[0].Attempts, 0)
	s.finish(fetched(t))
	want(s, "Suspects", s.stats().Suspects, 0)
	want(s, "state", s.claim(1, 1).State, frontier.Drained)
}

func suspectFirst(s *stage) {
	s.add(s.links(pages("a", 5)...))
	t := s.turn(4)
	s.finish(fetched(t, t.Tasks[0]))
	s.turn(3)
	s.fall()
	t = s.turn(9)
	want(s, "the innocent", stops(t.Tasks), "a/2:0 a/3:0 a/4:0")
	s.finish(fetched(t))
	want(s, "the suspect", stops(s.turn(9).Tasks), "a/1:1")
}

func suspectWidth(s *stage) {
	s.add(s.links(pages("a", 5)...))
	r := result(s.turn(1))
	r.Host = &frontier.HostUpdate{Width: 2}
	s.finish(r)
	s.turn(4)
	s.fall()
	want(s, "Suspects", s.stats().Suspects, 2)
	t := s.turn(9)
	want(s, "the innocent", stops(t.Tasks), "a/2:0 a/3:0 a/4:0")
	s.finish(fetched(t))
	first := s.turn(9)
	want(s, "suspects in a turn", len(first.Tasks), 1)
	s.finish(fetched(first))
	second := s.turn(9)
	want(s, "suspects in a turn", len(second.Tasks), 1)
	s.finish(fetched(second))
	if us := stops(first.Tasks) + " " + stops(second.Tasks); us != "a/0:1 a/1:1" && us != "a/1:1 a/0:1" {
		s.Fatalf("suspects: %s", us)
	}
}

func suspectKeep(s *stage) {
	s.add(s.links(pages("a", 4)...))
	t := s.turn(2)
	r := fetched(t, t.Tasks[0])
	r.Keep, r.Want = true, 1
	want(s, "more", names(s.finish(r).Tasks), "a/2")
	s.fall()
	t = s.turn(9)
	want(s, "the innocent", stops(t.Tasks), "a/2:0 a/3:0")
	s.finish(fetched(t))
	want(s, "the suspect", stops(s.turn(9).Tasks), "a/1:1")
}

func suspectClean(s *stage) {
	s.add(s.links("a/0", "a/1"))
	s.turn(1)
	s.sleep(frontier.GroupDelay + time.Millisecond)
	s.reopen()
	want(s, "Suspects", s.stats().Suspects, 0)
	want(s, "tasks", stops(s.turn(9).Tasks), "a/0:0 a/1:0")
}

func suspectNoTask(s *stage) {
	s.add(s.links("a/0", "a/1"))
	if _, err := s.f.ClaimAuthority(s.Context(), s.auth("a")); err != nil {
		s.Fatal(err)
	}
	s.fall()
	want(s, "Suspects", s.stats().Suspects, 0)
	want(s, "tasks", stops(s.turn(9).Tasks), "a/0:0 a/1:0")
}

func suspectOne(s *stage) {
	s.add(s.links("a/0", "b/0", "c/0"))
	s.accuse(3)
	want(s, "Suspects", s.stats().Suspects, 3)
	t := s.turn(9)
	want(s, "stops", t.Tasks[0].Stops, 1)
	s.nothing("the other suspects")
	s.add(s.links("d/0", "d/1"))
	d := s.turn(9)
	want(s, "another host", names(d.Tasks), "d/0 d/1")
	s.nothing("the other suspects")
	s.finish(fetched(t))
	t = s.turn(9)
	want(s, "stops of the next", t.Tasks[0].Stops, 1)
	s.nothing("the third")
	s.finish(fetched(t))
	s.finish(fetched(d))
	s.finish(fetched(s.turn(9)))
	want(s, "state", s.claim(1, 1).State, frontier.Drained)
}

func suspectNoMore(s *stage) {
	s.add(s.links("a/0"))
	s.turn(1)
	s.fall()
	t := s.turn(9)
	want(s, "the suspect", stops(t.Tasks), "a/0:1")
	s.add(s.links("a/1", "a/2"))
	r := result(t)
	r.Keep, r.Want = true, 2
	want(s, "more while it is out", names(s.finish(r).Tasks), "")
	r = fetched(t)
	r.Keep, r.Want = true, 2
	want(s, "more when it is closed", names(s.finish(r).Tasks), "")
	s.finish(result(t))
	want(s, "the rest", s.all(), "a/1 a/2")
}

// twice leaves a suspect of two stops, which was never alone, one of one stop, and x/0, one of one stop too. It returns
// the first.
func (s *stage) twice() string {
	s.Helper()
	s.add(s.links("a/0", "b/0"))
	s.accuse(2)
	s.add(s.links("x/0"))
	c := s.claim(9, 9)
	want(s, "turns", len(c.Turns), 2)
	s.fall()
	want(s, "Suspects", s.stats().Suspects, 3)
	for _, t := range c.Turns {
		if t.Tasks[0].Stops > 0 {
			return names(t.Tasks)
		}
	}
	s.Fatal("no turn has a suspect, though nothing else of its host is due")
	return ""
}

func suspectAlone(s *stage) {
	guilty := s.twice()
	e, err := s.f.ClaimAuthority(s.Context(), s.auth("e"))
	if err != nil {
		s.Fatal(err)
	}
	s.add(s.links("d/0"))
	for range 3 {
		t := s.turn(9)
		if names(t.Tasks) == guilty {
			s.Fatalf("%s is given while a lease is out", stops(t.Tasks))
		}
		s.finish(fetched(t))
	}
	s.nothing("a suspect of two stops, while a lease is out")
	s.finish(result(e))
	t := s.turn(9)
	want(s, "at last", stops(t.Tasks), guilty+":2")
	s.add(s.links("d/1"))
	s.nothing("other hosts, while a suspect of two stops is out")
	s.notDue("a suspect of two stops is out", "e")
	s.finish(fetched(t))
	want(s, "the rest", s.all(), "d/1")
}
