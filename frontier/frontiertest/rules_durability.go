package frontiertest

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/model"
)

// durabilityRules are about what a crash may lose, and what it must not.
func durabilityRules() []rule {
	return []rule{
		{name: "durable: seeds once Add has returned", crash: true, test: durableAdd},
		{name: "durable: everything applied before Sync", crash: true, test: durableSync},
		{name: "durable: a result after GroupDelay, without Sync", crash: true, test: durableDelay},
		{name: "durable: GroupPages results, without a wait", crash: true, test: durablePages},
		{name: "durable: all of a result or nothing, crash at once", crash: true, test: durableWhole(0)},
		{name: "durable: all of a result or nothing, crash within the group", crash: true, test: durableWhole(frontier.GroupDelay / 2)},
		{name: "durable: all of a result or nothing, crash after the group", crash: true, test: durableWhole(2 * frontier.GroupDelay)},
		{name: "durable: a close keeps everything", test: durableClose},
		{name: "durable: what was applied, but not committed, may be lost and is then claimed again", crash: true, test: durableRepeat},
	}
}

func durableAdd(s *stage) {
	s.add(s.seeds("a/0", "b/0"), s.links("c/0"), s.refused("trap", "d/0"))
	s.crash()
	want(s, "Add again", s.add(s.links("a/0", "b/0", "c/0", "d/0")), frontier.Added{Known: 4})
	seeds, err := frontier.SeedsOf(s.Context(), s.f)
	if err != nil || len(seeds) != 2 {
		s.Fatalf("Seeds: %v, error %v", seeds, err)
	}
	st := s.stats()
	want(s, "Unclean", st.Unclean, true)
	want(s, "Restarts", st.Restarts, 1)
	us := s.drain(0)
	slices.Sort(us)
	want(s, "tasks", strings.Join(us, " "), "a/0 b/0 c/0")
}

func durableSync(s *stage) {
	s.add(s.links("a/0", "a/1"))
	s.finish(s.full(s.turn(2)))
	s.sync()
	before := s.picture()
	s.crash()
	after := s.picture()
	for _, p := range []model.Picture{before, after} {
		delete(p, "unclean, restarts")
	}
	if diff := before.Diff(after); diff != "" {
		s.Fatalf("something has changed: %s", diff)
	}
	if blob, err := s.f.Blob(s.Context(), digest("a body")); err != nil || string(blob) != "a body" {
		s.Fatalf("Blob: %q, error %v", blob, err)
	}
	want(s, "Add of the links again", s.add(s.links("a/90", "a/91", "z/0")), frontier.Added{Known: 3})
	want(s, "the task of another host", names(s.turn(5).Tasks), "z/0")
}

func durableDelay(s *stage) {
	s.add(s.links("a/0"))
	r := fetched(s.turn(1))
	r.Found = s.links("a/1")
	s.finish(r)
	s.sleep(frontier.GroupDelay + time.Millisecond)
	s.crash()
	want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], 1)
	want(s, "tasks", names(s.turn(5).Tasks), "a/1")
}

func durablePages(s *stage) {
	var us []string
	for i := range frontier.GroupPages {
		us = append(us, fmt.Sprintf("h%d/0", i))
	}
	s.add(s.links(us...))
	c := s.claim(frontier.GroupPages, 1)
	want(s, "turns", len(c.Turns), frontier.GroupPages)
	var rs []frontier.Result
	for _, t := range c.Turns {
		rs = append(rs, fetched(t))
	}
	if _, err := s.f.Finish(s.Context(), rs); err != nil {
		s.Fatal(err)
	}
	synctest.Wait() // no time passes
	s.crash()
	want(s, "Fetched", s.stats().Outcomes[frontier.Fetched], frontier.GroupPages)
}

// durableWhole crashes some time after a Finish that carries everything.
func durableWhole(after time.Duration) func(s *stage) {
	return func(s *stage) {
		s.add(s.links("a/0", "a/1"))
		s.finish(s.full(s.turn(2)))
		s.sleep(after)
		s.crash()
		h, st := s.host("a"), s.stats()
		there := h.Outcomes[frontier.Fetched] == 1
		if after > frontier.GroupDelay {
			want(s, "the outcome is there", there, true)
		}
		want(s, "the deferral is there", h.Deferred == 1, there)
		want(s, "the update is there", string(h.Robots) == "r", there)
		want(s, "the wait is there", h.Wait > 0, there)
		want(s, "the count is there", st.Counts["octets"] == 1000, there)
		_, err := s.f.Blob(s.Context(), digest("a body"))
		want(s, "the blob is there", err == nil, there)
		seeds, err := frontier.SeedsOf(s.Context(), s.f)
		want(s, "the extension of scope is there", err == nil && len(seeds) == 1, there)
		want(s, "the refusal is there", st.Reasons[frontier.Dropped]["trap"] == 1, there)
		want(s, "the links are there", s.add(s.links("a/90", "z/0")).Known == 2, there)
	}
}

func durableClose(s *stage) {
	s.add(s.links("a/0", "a/1"))
	s.finish(s.full(s.turn(2)))
	before := s.picture()
	s.reopen()
	after := s.picture()
	for _, p := range []model.Picture{before, after} {
		delete(p, "unclean, restarts")
	}
	if diff := before.Diff(after); diff != "" {
		s.Fatalf("something has changed: %s", diff)
	}
	want(s, "Unclean", s.stats().Unclean, false)
}

func durableRepeat(s *stage) {
	s.add(s.links("a/0"))
	r := fetched(s.turn(1))
	r.Found = s.links("a/1")
	s.finish(r)
	s.crash()
	if us := strings.Join(s.drain(0), " "); us != "a/0" && us != "a/1" {
		s.Fatalf("after the crash %q is claimed; want the page again, or else its link", us)
	}
}
