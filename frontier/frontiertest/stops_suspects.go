package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// suspectRules are about URLs that may bring the process down each time they are fetched.
func suspectRules() []stage.Rule {
	return []stage.Rule{
		{Name: "suspect: what was in flight at an unclean stop comes last of its host, alone, and says so", Crash: true, Test: suspectLast},
		{Name: "suspect: what a turn brought but was not in flight yet is none", Crash: true, Test: suspectFirst},
		{Name: "suspect: with a width of two, the first two of the turn are", Crash: true, Test: suspectWidth},
		{Name: "suspect: with Keep, the first that is not settled yet", Crash: true, Test: suspectKeep},
		{Name: "suspect: after a clean stop nothing is", Test: suspectClean},
		{Name: "suspect: a lease without tasks makes none", Crash: true, Test: suspectNoTask},
		{Name: "suspect: one at a time in the whole frontier, while other hosts go on", Crash: true, Test: suspectOne},
		{Name: "suspect: a turn with one brings no more tasks", Crash: true, Test: suspectNoMore},
		{Name: "suspect: of two stops only while no other lease is out, and then no other turn", Crash: true, Test: suspectAlone},
	}
}

// fall lets a turn's lease be recorded, and crashes.
func fall(s *stage.Stage) {
	s.Helper()
	s.Sleep(frontier.GroupDelay + time.Millisecond)
	s.Crash()
}

// accuse makes the first task of every host that is due a suspect: all are in flight at once.
func accuse(s *stage.Stage, hosts int) {
	s.Helper()
	stage.Want(s, "turns", len(s.Claim(hosts, 1).Turns), hosts)
	fall(s)
}

// nothing fails if a turn is given. A lease is out, so that Claim has to wait.
func nothing(s *stage.Stage, what string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	c, err := s.Frontier.Claim(ctx, frontier.Want{Hosts: 9, Tasks: 9, MaxWait: frontier.Never})
	if !errors.Is(err, context.DeadlineExceeded) {
		s.Fatalf("Claim gives %d turns, state %d, error %v; want it to wait: %s", len(c.Turns), c.State, err, what)
	}
}

// stops returns the tasks with their stops: "a/1:2 a/2:0".
func stops(ts []frontier.Task) string {
	var us []string
	for _, t := range ts {
		us = append(us, fmt.Sprintf("%s:%d", stage.Short(t.URL), t.Stops))
	}
	return strings.Join(us, " ")
}

func suspectLast(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 4)...))
	s.Turn(1)
	fall(s)
	stage.Want(s, "Suspects", s.Stats().Suspects, 1)
	stage.Want(s, "Queued", s.Host("a").Queued, 4)
	t := s.Turn(9)
	stage.Want(s, "the first turn", stops(t.Tasks), "a/1:0 a/2:0 a/3:0")
	s.Finish(stage.Fetched(t, t.Tasks[0]))
	t = s.Turn(9)
	stage.Want(s, "the second turn", stops(t.Tasks), "a/2:0 a/3:0")
	r := stage.Fetched(t, t.Tasks[0])
	r.Found = s.Links("a/4")
	r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Minute}}
	s.Finish(r)
	s.Sleep(time.Minute)
	t = s.Turn(1)
	s.Finish(stage.Fetched(t))
	other := s.Turn(1)
	s.Finish(stage.Fetched(other))
	if us := stage.Names(t.Tasks) + " " + stage.Names(other.Tasks); us != "a/3 a/4" && us != "a/4 a/3" {
		s.Fatalf("then came %s; want the link and the deferred one, before the suspect", us)
	}
	t = s.Turn(9)
	stage.Want(s, "the last turn", stops(t.Tasks), "a/0:1")
	stage.Want(s, "attempts", t.Tasks[0].Attempts, 0)
	s.Finish(stage.Fetched(t))
	stage.Want(s, "Suspects", s.Stats().Suspects, 0)
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
}

func suspectFirst(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 5)...))
	t := s.Turn(4)
	s.Finish(stage.Fetched(t, t.Tasks[0]))
	s.Turn(3)
	fall(s)
	t = s.Turn(9)
	stage.Want(s, "the innocent", stops(t.Tasks), "a/2:0 a/3:0 a/4:0")
	s.Finish(stage.Fetched(t))
	stage.Want(s, "the suspect", stops(s.Turn(9).Tasks), "a/1:1")
}

func suspectWidth(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 5)...))
	r := stage.Result(s.Turn(1))
	r.Host = &frontier.HostUpdate{Width: 2}
	s.Finish(r)
	s.Turn(4)
	fall(s)
	stage.Want(s, "Suspects", s.Stats().Suspects, 2)
	t := s.Turn(9)
	stage.Want(s, "the innocent", stops(t.Tasks), "a/2:0 a/3:0 a/4:0")
	s.Finish(stage.Fetched(t))
	first := s.Turn(9)
	stage.Want(s, "suspects in a turn", len(first.Tasks), 1)
	s.Finish(stage.Fetched(first))
	second := s.Turn(9)
	stage.Want(s, "suspects in a turn", len(second.Tasks), 1)
	s.Finish(stage.Fetched(second))
	if us := stops(first.Tasks) + " " + stops(second.Tasks); us != "a/0:1 a/1:1" && us != "a/1:1 a/0:1" {
		s.Fatalf("suspects: %s", us)
	}
}

func suspectKeep(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 4)...))
	t := s.Turn(2)
	r := stage.Fetched(t, t.Tasks[0])
	r.Keep, r.Want = true, 1
	stage.Want(s, "more", stage.Names(s.Finish(r).Tasks), "a/2")
	fall(s)
	t = s.Turn(9)
	stage.Want(s, "the innocent", stops(t.Tasks), "a/2:0 a/3:0")
	s.Finish(stage.Fetched(t))
	stage.Want(s, "the suspect", stops(s.Turn(9).Tasks), "a/1:1")
}

func suspectClean(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	s.Turn(1)
	s.Sleep(frontier.GroupDelay + time.Millisecond)
	s.Reopen()
	stage.Want(s, "Suspects", s.Stats().Suspects, 0)
	stage.Want(s, "tasks", stops(s.Turn(9).Tasks), "a/0:0 a/1:0")
}

func suspectNoTask(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	if _, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority("a")); err != nil {
		s.Fatal(err)
	}
	fall(s)
	stage.Want(s, "Suspects", s.Stats().Suspects, 0)
	stage.Want(s, "tasks", stops(s.Turn(9).Tasks), "a/0:0 a/1:0")
}

func suspectOne(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0", "c/0"))
	accuse(s, 3)
	stage.Want(s, "Suspects", s.Stats().Suspects, 3)
	t := s.Turn(9)
	stage.Want(s, "stops", t.Tasks[0].Stops, 1)
	nothing(s, "the other suspects")
	s.Add(s.Links("d/0", "d/1"))
	d := s.Turn(9)
	stage.Want(s, "another host", stage.Names(d.Tasks), "d/0 d/1")
	nothing(s, "the other suspects")
	s.Finish(stage.Fetched(t))
	t = s.Turn(9)
	stage.Want(s, "stops of the next", t.Tasks[0].Stops, 1)
	nothing(s, "the third")
	s.Finish(stage.Fetched(t))
	s.Finish(stage.Fetched(d))
	s.Finish(stage.Fetched(s.Turn(9)))
	stage.Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
}

func suspectNoMore(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Turn(1)
	fall(s)
	t := s.Turn(9)
	stage.Want(s, "the suspect", stops(t.Tasks), "a/0:1")
	s.Add(s.Links("a/1", "a/2"))
	r := stage.Result(t)
	r.Keep, r.Want = true, 2
	stage.Want(s, "more while it is out", stage.Names(s.Finish(r).Tasks), "")
	r = stage.Fetched(t)
	r.Keep, r.Want = true, 2
	stage.Want(s, "more when it is closed", stage.Names(s.Finish(r).Tasks), "")
	s.Finish(stage.Result(t))
	stage.Want(s, "the rest", s.Pending(), "a/1 a/2")
}

// twice leaves a suspect of two stops, which was never alone, one of one stop, and x/0, one of one stop too. It returns
// the first.
func twice(s *stage.Stage) string {
	s.Helper()
	s.Add(s.Links("a/0", "b/0"))
	accuse(s, 2)
	s.Add(s.Links("x/0"))
	c := s.Claim(9, 9)
	stage.Want(s, "turns", len(c.Turns), 2)
	fall(s)
	stage.Want(s, "Suspects", s.Stats().Suspects, 3)
	for _, t := range c.Turns {
		if t.Tasks[0].Stops > 0 {
			return stage.Names(t.Tasks)
		}
	}
	s.Fatal("no turn has a suspect, though nothing else of its host is due")
	return ""
}

func suspectAlone(s *stage.Stage) {
	guilty := twice(s)
	e, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority("e"))
	if err != nil {
		s.Fatal(err)
	}
	s.Add(s.Links("d/0"))
	for range 3 {
		t := s.Turn(9)
		if stage.Names(t.Tasks) == guilty {
			s.Fatalf("%s is given while a lease is out", stops(t.Tasks))
		}
		s.Finish(stage.Fetched(t))
	}
	nothing(s, "a suspect of two stops, while a lease is out")
	s.Finish(stage.Result(e))
	t := s.Turn(9)
	stage.Want(s, "at last", stops(t.Tasks), guilty+":2")
	s.Add(s.Links("d/1"))
	nothing(s, "other hosts, while a suspect of two stops is out")
	s.NotDue("a suspect of two stops is out", "e")
	s.Finish(stage.Fetched(t))
	stage.Want(s, "the rest", s.Pending(), "d/1")
}
