package frontiertest

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
	"curtsy/frontier/model"
)

// durabilityRules are about what a crash may lose, and what it must not.
func durabilityRules() []stage.Rule {
	return []stage.Rule{
		{Name: "durable: seeds once Add has returned", Crash: true, Test: durableAdd},
		{Name: "durable: everything applied before Sync", Crash: true, Test: durableSync},
		{Name: "durable: a result after GroupDelay, without Sync", Crash: true, Test: durableDelay},
		{Name: "durable: GroupPages results, without a wait", Crash: true, Test: durablePages},
		{Name: "durable: all of a result or nothing, crash at once", Crash: true, Test: durableWhole(0)},
		{Name: "durable: all of a result or nothing, crash within the group", Crash: true, Test: durableWhole(frontier.GroupDelay / 2)},
		{Name: "durable: all of a result or nothing, crash after the group", Crash: true, Test: durableWhole(2 * frontier.GroupDelay)},
		{Name: "durable: a close keeps everything", Test: durableClose},
		{Name: "durable: what was applied, but not committed, may be lost and is then claimed again", Crash: true, Test: durableRepeat},
	}
}

func durableAdd(s *stage.Stage) {
	s.Add(s.Seeds("a/0", "b/0"), s.Links("c/0"), s.Refused("trap", "d/0"))
	s.Crash()
	stage.Want(s, "Add again", s.Add(s.Links("a/0", "b/0", "c/0", "d/0")), frontier.Added{Known: 4})
	seeds, err := frontier.SeedsOf(s.Context(), s.Frontier)
	if err != nil || len(seeds) != 2 {
		s.Fatalf("Seeds: %v, error %v", seeds, err)
	}
	st := s.Stats()
	stage.Want(s, "Unclean", st.Unclean, true)
	stage.Want(s, "Restarts", st.Restarts, 1)
	us := s.Drain(0)
	slices.Sort(us)
	stage.Want(s, "tasks", strings.Join(us, " "), "a/0 b/0 c/0")
}

func durableSync(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	s.Finish(stage.FullResult(s, s.Turn(2)))
	s.Sync()
	before := s.Picture()
	s.Crash()
	after := s.Picture()
	for _, p := range []model.Picture{before, after} {
		delete(p, "unclean, restarts")
	}
	if diff := before.Diff(after); diff != "" {
		s.Fatalf("something has changed: %s", diff)
	}
	if blob, err := s.Frontier.Blob(s.Context(), stage.Digest("a body")); err != nil || string(blob) != "a body" {
		s.Fatalf("Blob: %q, error %v", blob, err)
	}
	stage.Want(s, "Add of the links again", s.Add(s.Links("a/90", "a/91", "z/0")), frontier.Added{Known: 3})
	stage.Want(s, "the task of another host", stage.Names(s.Turn(5).Tasks), "z/0")
}

func durableDelay(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	r := stage.Fetched(s.Turn(1))
	r.Found = s.Links("a/1")
	s.Finish(r)
	s.Sleep(frontier.GroupDelay + time.Millisecond)
	s.Crash()
	stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], 1)
	stage.Want(s, "tasks", stage.Names(s.Turn(5).Tasks), "a/1")
}

func durablePages(s *stage.Stage) {
	var us []string
	for i := range frontier.GroupPages {
		us = append(us, fmt.Sprintf("h%d/0", i))
	}
	s.Add(s.Links(us...))
	c := s.Claim(frontier.GroupPages, 1)
	stage.Want(s, "turns", len(c.Turns), frontier.GroupPages)
	var rs []frontier.Result
	for _, t := range c.Turns {
		rs = append(rs, stage.Fetched(t))
	}
	if _, err := s.Frontier.Finish(s.Context(), rs); err != nil {
		s.Fatal(err)
	}
	synctest.Wait() // no time passes
	s.Crash()
	stage.Want(s, "Fetched", s.Stats().Outcomes[frontier.Fetched], frontier.GroupPages)
}

// durableWhole crashes some time after a Finish that carries everything.
func durableWhole(after time.Duration) func(s *stage.Stage) {
	return func(s *stage.Stage) {
		s.Add(s.Links("a/0", "a/1"))
		s.Finish(stage.FullResult(s, s.Turn(2)))
		s.Sleep(after)
		s.Crash()
		h, st := s.Host("a"), s.Stats()
		there := h.Outcomes[frontier.Fetched] == 1
		if after > frontier.GroupDelay {
			stage.Want(s, "the outcome is there", there, true)
		}
		stage.Want(s, "the deferral is there", h.Deferred == 1, there)
		stage.Want(s, "the update is there", string(h.Robots) == "r", there)
		stage.Want(s, "the wait is there", h.Wait > 0, there)
		stage.Want(s, "the count is there", st.Counts["octets"] == 1000, there)
		_, err := s.Frontier.Blob(s.Context(), stage.Digest("a body"))
		stage.Want(s, "the blob is there", err == nil, there)
		seeds, err := frontier.SeedsOf(s.Context(), s.Frontier)
		stage.Want(s, "the extension of scope is there", err == nil && len(seeds) == 1, there)
		stage.Want(s, "the refusal is there", st.Reasons[frontier.Dropped]["trap"] == 1, there)
		stage.Want(s, "the links are there", s.Add(s.Links("a/90", "z/0")).Known == 2, there)
	}
}

func durableClose(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1"))
	s.Finish(stage.FullResult(s, s.Turn(2)))
	before := s.Picture()
	s.Reopen()
	after := s.Picture()
	for _, p := range []model.Picture{before, after} {
		delete(p, "unclean, restarts")
	}
	if diff := before.Diff(after); diff != "" {
		s.Fatalf("something has changed: %s", diff)
	}
	stage.Want(s, "Unclean", s.Stats().Unclean, false)
}

func durableRepeat(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	r := stage.Fetched(s.Turn(1))
	r.Found = s.Links("a/1")
	s.Finish(r)
	s.Crash()
	if us := strings.Join(s.Drain(0), " "); us != "a/0" && us != "a/1" {
		s.Fatalf("after the crash %q is claimed; want the page again, or else its link", us)
	}
}
