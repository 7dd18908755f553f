package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
)

// tellRules are about Options.Tell.
func tellRules() []rule {
	return []rule{
		{name: "tell: what an expired lease leaves of a Drop is told, before the Barrier", test: tellExpired},
		{name: "tell: what an opening closes for a Drop is told", test: tellOpening},
		{name: "tell: what a death keeps from being told or committed is told after it", crash: true, test: tellAfterDeath},
		{name: "tell: URLs that are dropped by name are told as they were accepted, and once", test: tellNamed},
		{name: "tell: what a call's answer names is not told again", test: tellNotAnswered},
		{name: "tell: what cannot be told is not committed", crash: true, test: tellFails},
	}
}

// told collects what Options.Tell and Options.Barrier are called with, in order.
type told struct {
	mu   sync.Mutex
	all  []string
	fail error
}

func (d *told) options() frontier.Options {
	return frontier.Options{
		LeaseLength: length,
		Tell: func(_ context.Context, l frontier.Closings) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, c := range l.URLs {
				d.all = append(d.all, short(c.URL)+" of "+c.Tag)
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
func (d *told) want(s *stage, what string, all ...string) {
	s.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	want(s, what, strings.Join(d.all, ", "), strings.Join(all, ", "))
	d.all = nil
}

// listen opens the frontier of s anew with d listening.
func (d *told) listen(s *stage) {
	s.Helper()
	s.close()
	s.open(d.options())
}

func tellExpired(s *stage) {
	var d told
	d.listen(s)
	s.add(s.links("a/0", "a/1", "a/2"))
	t := s.turn(2)
	s.steer(frontier.Drop, "a")
	d.want(s, "at the Drop", "1 of http://a.test:80", "barrier")
	s.sleep(length + time.Millisecond)
	s.dropped(3)
	s.sleep(2 * frontier.GroupDelay)
	d.want(s, "after the lease", "a/0 of tag", "a/1 of tag", "barrier")
	s.stale(fetched(t))
	s.reopen()
	s.sleep(2 * frontier.GroupDelay)
	d.want(s, "after a reopen")
	s.dropped(3)
}

func tellOpening(s *stage) {
	var d told
	d.listen(s)
	s.add(s.links("a/0", "a/1", "a/2"))
	s.turn(2)
	s.steer(frontier.Drop, "a")
	d.want(s, "at the Drop", "1 of http://a.test:80", "barrier")
	s.reopen()
	s.sleep(2 * frontier.GroupDelay)
	d.want(s, "after the opening", "a/0 of tag", "a/1 of tag", "barrier")
	s.dropped(3)
	s.reopen()
	s.sleep(2 * frontier.GroupDelay)
	d.want(s, "after the next")
}

func tellAfterDeath(s *stage) {
	var d told
	d.listen(s)
	s.add(s.links("a/0", "a/1", "a/2"))
	s.turn(2)
	s.steer(frontier.Drop, "a")
	d.want(s, "at the Drop", "1 of http://a.test:80", "barrier")
	s.crash()
	s.crash() // before any commit
	s.sleep(2 * frontier.GroupDelay)
	d.want(s, "after two deaths", "a/0 of tag", "a/1 of tag", "barrier")
	s.crash()
	s.sleep(2 * frontier.GroupDelay)
	d.want(s, "after a third")
	s.dropped(3)
}

func tellNotAnswered(s *stage) {
	var d told
	d.listen(s)
	s.add(s.links("a/0", "a/1", "a/2", "b/0"))
	t := s.turn(2)
	s.steer(frontier.Drop, "a")
	want(s, "Dropped", len(s.finish(fetched(t, t.Tasks[0])).Dropped), 1)
	s.sleep(2 * frontier.GroupDelay)
	d.want(s, "in all", "1 of http://a.test:80", "barrier")
}

func tellFails(s *stage) {
	d := told{fail: errors.New("no room")}
	d.listen(s)
	s.add(s.links("a/0"))
	s.turn(1)
	s.steer(frontier.Drop, "a")
	s.sleep(length + time.Millisecond)
	s.dropped(1)
	s.sleep(2 * frontier.GroupDelay)
	if err := s.f.Sync(s.Context()); !errors.Is(err, d.fail) {
		s.Fatalf("Sync: %v", err)
	}
	d.mu.Lock()
	d.fail, d.all = nil, nil
	d.mu.Unlock()
	s.crash()
	s.sleep(2 * frontier.GroupDelay)
	d.want(s, "after the death", "a/0 of tag", "barrier")
	s.dropped(1)
}

func tellNamed(s *stage) {
	var d told
	d.listen(s)
	s.add(s.links("a/0", "a/1", "a/2"))
	s.turn(1)
	s.dropOnly("a/0", "a/1", "a/9")
	d.want(s, "at the Drop", "a/1 of tag", "barrier")
	s.dropOnly("a/1", "a/2")
	d.want(s, "at the second", "a/2 of tag", "barrier")
	s.reopen()
	s.sleep(2 * frontier.GroupDelay)
	d.want(s, "after a reopen", "a/0 of tag", "barrier")
	s.dropped(3)
}
