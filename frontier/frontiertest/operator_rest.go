package frontiertest

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// toRest has a host rest, and fails unless that is the change which is wanted.
func toRest(s *stage.Stage, host string, d time.Duration, changes bool) {
	s.Helper()
	did := s.Command(frontier.Steering{Act: frontier.Rest, Authority: s.Authority(host), For: d})
	stage.Want(s, "Rest", did, frontier.Steered{Changed: changes})
}

func restWaits(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	toRest(s, "a", time.Hour, true)
	toRest(s, "a", time.Minute, false)
	toRest(s, "a", 0, false)
	stage.Want(s, "others", s.Pending(), "b/0")
	waits(s, time.Hour)
	s.NotDue("resting", "a")
	s.Sleep(30 * time.Minute)
	toRest(s, "a", 20*time.Minute, false)
	toRest(s, "a", 40*time.Minute, true)
	waits(s, 40*time.Minute)
	s.Reopen()
	waits(s, 40*time.Minute)
	s.Sleep(40 * time.Minute)
	stage.Want(s, "when it is over", s.Pending(), "a/0")
}

func restLeased(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	t := s.Turn(1)
	toRest(s, "a", time.Hour, true)
	r := stage.Fetched(t, t.Tasks[0])
	r.Keep, r.Want = true, 1
	stage.Want(s, "more tasks", stage.Names(s.Finish(r).Tasks), "a/1")
	r = stage.Result(t)
	r.Wait = time.Minute
	s.Finish(r)
	waits(s, time.Hour)
}

func restApart(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	s.Steer(frontier.Park, "b")
	toRest(s, "a", time.Hour, true)
	toRest(s, "b", time.Hour, true)
	held(s, "a", 0, 0)
	held(s, "b", frontier.Park, frontier.Never)
	stage.Want(s, "Resume", s.Steer(frontier.Resume, "a"), frontier.Steered{})
	stage.Want(s, "Resume", s.Steer(frontier.Resume, "b"), frontier.Steered{Changed: true})
	waits(s, time.Hour)
}

func restUnknown(s *stage.Stage) {
	toRest(s, "a", time.Hour, true)
	s.Crash()
	s.Add(s.Links("a/0"))
	waits(s, time.Hour)
}
