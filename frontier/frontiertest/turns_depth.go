package frontiertest

import (
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// depthRules are about the order of the tasks of a host that is not breadth first.
func depthRules() []stage.Rule {
	deep := frontier.Options{Order: frontier.DepthFirst}
	return []stage.Rule{
		{Name: "depth first: the task that was accepted last comes first", Options: deep, Test: depthFirst},
		{Name: "depth first: what a turn does not settle has its old place", Options: deep, Test: depthReturned},
		{Name: "depth first: each opening says its own order", Options: deep, Test: depthReopen},
		{Name: "depth first: what is tried again has its old place", Options: deep, Test: depthRetry},
	}
}

func depthFirst(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2", "a/3"))
	t := s.Turn(2)
	stage.Want(s, "the first turn", stage.Names(t.Tasks), "a/3 a/2")
	r := stage.Fetched(t)
	r.Found = s.Links("a/4", "a/5")
	s.Finish(r)
	stage.Want(s, "the rest", s.Pending(), "a/5 a/4 a/1 a/0")
}

func depthReturned(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 5)...))
	t := s.Turn(3)
	stage.Want(s, "the first turn", stage.Names(t.Tasks), "a/4 a/3 a/2")
	s.Finish(stage.Fetched(t, t.Tasks[1]))
	t = s.Turn(2)
	stage.Want(s, "the second turn", stage.Names(t.Tasks), "a/4 a/2")
	s.Add(s.Links("a/5"))
	s.Finish(stage.Result(t))
	t = s.Turn(9)
	stage.Want(s, "the third turn", stage.Names(t.Tasks), "a/5 a/4 a/2 a/1 a/0")
	for _, x := range t.Tasks {
		stage.Want(s, "attempts of "+stage.Short(x.URL), x.Attempts, 0)
	}
}

func depthReopen(s *stage.Stage) {
	s.Add(s.Links(stage.Pages("a", 150)...))
	s.Finish(stage.Fetched(s.Turn(1)))
	s.Reopen()
	t := s.Turn(2)
	stage.Want(s, "depth first", stage.Names(t.Tasks), "a/148 a/147")
	s.Finish(stage.Fetched(t))
	s.Close()
	s.Open(frontier.Options{})
	t = s.Turn(200)
	stage.Want(s, "breadth first", stage.Names(t.Tasks), strings.Join(stage.Pages("a", 147), " "))
	s.Finish(stage.Fetched(t, t.Tasks[0]))
	s.Close()
	s.Open(frontier.Options{Order: frontier.DepthFirst})
	stage.Want(s, "depth first", stage.Names(s.Turn(2).Tasks), "a/146 a/145")
}

func depthRetry(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/f1", "a/f2"))
	s.CloseAll()
	s.Add(s.Links("a/3"))
	s.Retry(frontier.Retrial{Outcome: frontier.Failed})
	stage.Want(s, "the rest", s.Pending(), "a/3 a/f2 a/f1")
}
