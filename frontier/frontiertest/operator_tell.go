package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest/stage"
)

// tellRules are about Options.Tell.
func tellRules() []stage.Rule {
	return []stage.Rule{
		{Name: "tell: what an expired lease leaves of a Drop is told, before the Barrier", Test: tellExpired},
		{Name: "tell: what an opening closes for a Drop is told", Test: tellOpening},
		{Name: "tell: what a death keeps from being told or committed is told after it", Crash: true, Test: tellAfterDeath},
		{Name: "tell: URLs that are dropped by name are told as they were accepted, and once", Test: tellNamed},
		{Name: "tell: what a call's answer names is not told again", Test: tellNotAnswered},
		{Name: "tell: what cannot be told is not committed", Crash: true, Test: tellFails},
	}
}

// operatorTold collects what Options.Tell and Options.Barrier are called with, in order.
type operatorTold struct {
	mu   sync.Mutex
	all  []string
	fail error
}

func (d *operatorTold) options() frontier.Options {
	return frontier.Options{
		LeaseLength: stage.LeaseLength,
		Tell: func(_ context.Context, l frontier.Closings) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, c := range l.URLs {
				d.all = append(d.all, stage.Short(c.URL)+" of "+c.Tag)
			}
			for a, n := range l.Hosts {
				d.all = append(d.all, fmt.Sprint(n, " of ", a))
			}
			return d.fail
		},
		Barrier: func(context.Context) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			if n := len(d.all); n > 0 && d.all[n-1] != "barrier" {
				d.all = append(d.all, "barrier")
			}
			return nil
		},
	}
}

// want fails unless that is what was told since the last time.
func (d *operatorTold) want(s *stage.Stage, what string, all ...string) {
	s.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	stage.Want(s, what, strings.Join(d.all, ", "), strings.Join(all, ", "))
	d.all = nil
}

// listen opens the frontier of s anew with d listening.
func (d *operatorTold) listen(s *stage.Stage) {
	s.Helper()
	s.Close()
	s.Open(d.options())
}

func tellExpired(s *stage.Stage) {
	var d operatorTold
	d.listen(s)
	s.Add(s.Links("a/0", "a/1", "a/2"))
	t := s.Turn(2)
	s.Steer(frontier.Drop, "a")
	d.want(s, "at the Drop", "1 of http://a.test:80", "barrier")
	s.Sleep(stage.LeaseLength + time.Millisecond)
	dropped(s, 3)
	s.Sleep(2 * frontier.GroupDelay)
	d.want(s, "after the lease", "a/0 of tag", "a/1 of tag", "barrier")
	s.Stale(stage.Fetched(t))
	s.Reopen()
	s.Sleep(2 * frontier.GroupDelay)
	d.want(s, "after a reopen")
	dropped(s, 3)
}

func tellOpening(s *stage.Stage) {
	var d operatorTold
	d.listen(s)
	s.Add(s.Links("a/0", "a/1", "a/2"))
	s.Turn(2)
	s.Steer(frontier.Drop, "a")
	d.want(s, "at the Drop", "1 of http://a.test:80", "barrier")
	s.Reopen()
	s.Sleep(2 * frontier.GroupDelay)
	d.want(s, "after the opening", "a/0 of tag", "a/1 of tag", "barrier")
	dropped(s, 3)
	s.Reopen()
	s.Sleep(2 * frontier.GroupDelay)
	d.want(s, "after the next")
}

func tellAfterDeath(s *stage.Stage) {
	var d operatorTold
	d.listen(s)
	s.Add(s.Links("a/0", "a/1", "a/2"))
	s.Turn(2)
	s.Steer(frontier.Drop, "a")
	d.want(s, "at the Drop", "1 of http://a.test:80", "barrier")
	s.Crash()
	s.Crash() // before any commit
	s.Sleep(2 * frontier.GroupDelay)
	d.want(s, "after two deaths", "a/0 of tag", "a/1 of tag", "barrier")
	s.Crash()
	s.Sleep(2 * frontier.GroupDelay)
	d.want(s, "after a third")
	dropped(s, 3)
}

func tellNotAnswered(s *stage.Stage) {
	var d operatorTold
	d.listen(s)
	s.Add(s.Links("a/0", "a/1", "a/2", "b/0"))
	t := s.Turn(2)
	s.Steer(frontier.Drop, "a")
	stage.Want(s, "Dropped", len(s.Finish(stage.Fetched(t, t.Tasks[0])).Dropped), 1)
	s.Sleep(2 * frontier.GroupDelay)
	d.want(s, "in all", "1 of http://a.test:80", "barrier")
}

func tellFails(s *stage.Stage) {
	d := operatorTold{fail: errors.New("no room")}
	d.listen(s)
	s.Add(s.Links("a/0"))
	s.Turn(1)
	s.Steer(frontier.Drop, "a")
	s.Sleep(stage.LeaseLength + time.Millisecond)
	dropped(s, 1)
	s.Sleep(2 * frontier.GroupDelay)
	if err := s.Frontier.Sync(s.Context()); !errors.Is(err, d.fail) {
		s.Fatalf("Sync: %v", err)
	}
	d.mu.Lock()
	d.fail, d.all = nil, nil
	d.mu.Unlock()
	s.Crash()
	s.Sleep(2 * frontier.GroupDelay)
	d.want(s, "after the death", "a/0 of tag", "barrier")
	dropped(s, 1)
}

func tellNamed(s *stage.Stage) {
	var d operatorTold
	d.listen(s)
	s.Add(s.Links("a/0", "a/1", "a/2"))
	s.Turn(1)
	dropOnly(s, "a/0", "a/1", "a/9")
	d.want(s, "at the Drop", "a/1 of tag", "barrier")
	dropOnly(s, "a/1", "a/2")
	d.want(s, "at the second", "a/2 of tag", "barrier")
	s.Reopen()
	s.Sleep(2 * frontier.GroupDelay)
	d.want(s, "after a reopen", "a/0 of tag", "barrier")
	dropped(s, 3)
}
