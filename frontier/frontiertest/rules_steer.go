package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// steerRules are about what an operator commands: Park and Resume, and what both have in common with Drop.
var steerRules = []rule{
	{Name: "park: no turn until Resume, its URLs stay and it takes new ones", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "b/0"))
		Want(s, "Park", s.Steer(frontier.Park, "a"), frontier.Steered{Changed: true})
		held(s, "a", frontier.Park, frontier.Never)
		Want(s, "Stopped", s.Stats().Stopped, 1)
		Want(s, "Parked, which is another matter", s.Stats().Parked, 0)
		Want(s, "others", s.Pending(), "b/0")
		Want(s, "New", s.Add(s.Links("a/2")), frontier.Added{New: 1})
		waits(s, frontier.Never)
		s.NotDue("parked by an operator", "a")
		Want(s, "Queued", s.Host("a").Queued, 3)
		Want(s, "Resume", s.Steer(frontier.Resume, "a"), frontier.Steered{Changed: true})
		held(s, "a", 0, 0)
		Want(s, "Stopped", s.Stats().Stopped, 0)
		Want(s, "the rest", s.Pending(), "a/0 a/1 a/2")
	}},
	{Name: "park: with a time it ends by itself, and a claim wakes", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Command(frontier.Steering{Act: frontier.Park, Authority: s.Authority("a"), For: time.Hour, Reason: reasonOf(frontier.Park)})
		held(s, "a", frontier.Park, time.Hour)
		waits(s, time.Hour)
		s.Sleep(20 * time.Minute)
		held(s, "a", frontier.Park, 40*time.Minute)
		s.NotDue("parked by an operator", "a")
		begin := time.Now()
		c := s.ClaimWithin(1, 1, time.Hour)
		Want(s, "turns", len(c.Turns), 1)
		Want(s, "time passed", time.Since(begin), 40*time.Minute)
		held(s, "a", 0, 0)
		Want(s, "Stopped", s.Stats().Stopped, 0)
	}},
	{Name: "park: a claim that waits is given the host that Resume opens", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		s.Steer(frontier.Park, "a")
		s.Turn(1)
		answer := s.Waiting(frontier.Want{})
		s.Steer(frontier.Resume, "a")
		s.Gives(answer, "a/0")
	}},
	{Name: "park: a turn that is out goes on with no more tasks, and the park holds from its end", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2", "a/3"))
		t := s.Turn(2)
		Want(s, "Park", s.Steer(frontier.Park, "a"), frontier.Steered{Changed: true})
		Want(s, "leased", s.Host("a").Leased, true)
		Want(s, "more tasks", Names(s.end(t, frontier.Result{Done: done(t.Tasks[0]), Keep: true, Want: 1}).Tasks), "")
		s.Finish(resultOf(t))
		Want(s, "Fetched", s.Host("a").Outcomes[frontier.Fetched], 1)
		waits(s, frontier.Never)
		s.Steer(frontier.Resume, "a")
		Want(s, "the rest", s.Pending(), "a/1 a/2 a/3")
	}},
	{Name: "park: survives a close, with what is left of its time", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0", "c/0"))
		s.Command(frontier.Steering{Act: frontier.Park, Authority: s.Authority("a"), For: 3 * time.Hour, Reason: reasonOf(frontier.Park)})
		s.Command(frontier.Steering{Act: frontier.Park, Authority: s.Authority("b"), For: time.Hour, Reason: reasonOf(frontier.Park)})
		s.Steer(frontier.Park, "c")
		s.Sleep(10 * time.Minute)
		s.Close()
		s.Sleep(time.Hour)
		s.Open(s.Options)
		held(s, "a", frontier.Park, 110*time.Minute)
		held(s, "b", 0, 0)
		held(s, "c", frontier.Park, frontier.Never)
		Want(s, "Stopped", s.Stats().Stopped, 2)
		Want(s, "what is over", s.Pending(), "b/0")
		waits(s, 110*time.Minute)
		s.Sleep(110 * time.Minute)
		Want(s, "what is over", s.Pending(), "a/0")
		waits(s, frontier.Never)
	}},
	{Name: "park: a host that is not known yet is held when it is", Test: func(s *Stage) {
		s.Steer(frontier.Park, "a")
		held(s, "a", frontier.Park, frontier.Never)
		s.NotDue("parked by an operator", "a")
		s.Reopen()
		Want(s, "New", s.Add(s.Links("a/0")), frontier.Added{New: 1})
		waits(s, frontier.Never)
		s.Steer(frontier.Resume, "a")
		Want(s, "the task", s.Pending(), "a/0")
		Want(s, "Resume of one that is not known", s.Steer(frontier.Resume, "z"), frontier.Steered{})
	}},
	{Name: "park: what turns say of the host changes nothing of it, nor it of that", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		t := s.Turn(1)
		host := Names(t.Tasks)[:1]
		s.Steer(frontier.Park, host)
		s.end(t, frontier.Result{Host: &frontier.HostUpdate{Condition: frontier.Parked, Reason: "status 503"}, Wait: time.Hour})
		held(s, host, frontier.Park, frontier.Never)
		h := s.Host(host)
		Want(s, "condition", h.Condition, frontier.Parked)
		Want(s, "reason", h.Reason, "status 503")
		Want(s, "Wait, the park apart", h.Wait, time.Hour)
		s.Sleep(time.Hour)
		s.Finish(Fetched(s.Turn(1)))
		waits(s, frontier.Never)
		s.Steer(frontier.Resume, host)
		Want(s, "condition", s.Host(host).Condition, frontier.Parked)
		Want(s, "the task", s.Pending(), host+"/0")
	}},
	{Name: "park: a later command takes the place of the one before", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Steer(frontier.Park, "a")
		c := frontier.Steering{Act: frontier.Park, Authority: s.Authority("a"), For: time.Hour, Reason: "another"}
		Want(s, "Park with a time", s.Command(c), frontier.Steered{Changed: true})
		Want(s, "Hold", s.Host("a").Hold, frontier.Hold{Act: frontier.Park, Reason: "another", Wait: time.Hour})
		Want(s, "Drop", s.Steer(frontier.Drop, "a"), frontier.Steered{Changed: true, URLs: 1})
		held(s, "a", frontier.Drop, 0)
		s.Sleep(2 * time.Hour)
		held(s, "a", frontier.Drop, 0)
		s.Command(c)
		Want(s, "New", s.Add(s.Links("a/1")), frontier.Added{New: 1})
	}},
	{Name: "resume: opens hosts that are retired or refused, others stay", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0", "c/0", "d/0"))
		rest(s, frontier.Retired, frontier.Refused, frontier.Refused, frontier.Open)
		Want(s, "Resume a", s.Steer(frontier.Resume, "a"), frontier.Steered{Changed: true})
		Want(s, "Resume b", s.Steer(frontier.Resume, "b"), frontier.Steered{Changed: true})
		Want(s, "Resume d", s.Steer(frontier.Resume, "d"), frontier.Steered{})
		for host, c := range map[string]frontier.Condition{"a": frontier.Open, "b": frontier.Open, "c": frontier.Refused} {
			Want(s, "condition of "+host, s.Host(host).Condition, c)
		}
		Want(s, "what is open", len(s.Drain(time.Hour)), 3)
		Want(s, "the robots state stays", len(s.Host("a").Robots) > 0, true)
	}},
	{Name: "resume: the wait that the host is owed is not shortened", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		parkAll(s, s.Claim(2, 1), time.Hour, 2*time.Hour)
		for _, h := range []string{"a", "b"} {
			s.Steer(frontier.Park, h)
		}
		waits(s, frontier.Never)
		s.Sleep(time.Minute)
		for _, h := range []string{"a", "b"} {
			s.Steer(frontier.Resume, h)
		}
		waits(s, 59*time.Minute)
	}},
	{Name: "rest: the host waits, and a longer wait stays", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		toRest(s, "a", time.Hour, true)
		toRest(s, "a", time.Minute, false)
		toRest(s, "a", 0, false)
		Want(s, "others", s.Pending(), "b/0")
		waits(s, time.Hour)
		s.NotDue("resting", "a")
		s.Sleep(30 * time.Minute)
		toRest(s, "a", 20*time.Minute, false)
		toRest(s, "a", 40*time.Minute, true)
		waits(s, 40*time.Minute)
		s.Reopen()
		waits(s, 40*time.Minute)
		s.Sleep(40 * time.Minute)
		Want(s, "when it is over", s.Pending(), "a/0")
	}},
	{Name: "rest: a turn that is out goes on, and the host rests after it", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		t := s.Turn(1)
		toRest(s, "a", time.Hour, true)
		Want(s, "more tasks", Names(s.end(t, frontier.Result{Done: done(t.Tasks[0]), Keep: true, Want: 1}).Tasks), "a/1")
		s.end(t, frontier.Result{Wait: time.Minute})
		waits(s, time.Hour)
	}},
	{Name: "rest: no hold: Resume does not end it, and a hold stays", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0"))
		s.Steer(frontier.Park, "b")
		toRest(s, "a", time.Hour, true)
		toRest(s, "b", time.Hour, true)
		held(s, "a", 0, 0)
		held(s, "b", frontier.Park, frontier.Never)
		Want(s, "Resume", s.Steer(frontier.Resume, "a"), frontier.Steered{})
		Want(s, "Resume", s.Steer(frontier.Resume, "b"), frontier.Steered{Changed: true})
		waits(s, time.Hour)
	}},
	{Name: "rest: a host that is not known yet rests when it is, also after a crash", Crash: true, Test: func(s *Stage) {
		toRest(s, "a", time.Hour, true)
		s.Crash()
		s.Add(s.Links("a/0"))
		waits(s, time.Hour)
	}},
	{Name: "steer: durable when it returns", Crash: true, Test: func(s *Stage) {
		s.Add(s.Links("a/0", "b/0", "b/1", "c/0", "c/1"))
		s.Steer(frontier.Park, "a")
		s.Crash()
		held(s, "a", frontier.Park, frontier.Never)
		s.Steer(frontier.Resume, "a")
		s.Crash()
		held(s, "a", 0, 0)
		Want(s, "Drop", s.Steer(frontier.Drop, "b"), frontier.Steered{Changed: true, URLs: 2})
		s.Crash()
		held(s, "b", frontier.Drop, 0)
		Want(s, "Dropped", s.Host("b").Outcomes[frontier.Dropped], 2)
		s.Command(frontier.Steering{Act: frontier.Drop, Authority: s.Authority("c"), URLs: []canon.URL{s.URL("c/0")}})
		s.Crash()
		Want(s, "Dropped", s.Host("c").Outcomes[frontier.Dropped], 1)
	}},
	{Name: "steer: a command that makes no sense is refused, and no poison", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for why, c := range map[string]frontier.Steering{
			"no act":             {Authority: s.Authority("a")},
			"an unknown act":     {Act: 9, Authority: s.Authority("a")},
			"no host":            {Act: frontier.Park},
			"a negative time":    {Act: frontier.Park, Authority: s.Authority("a"), For: -1},
			"a time with Drop":   {Act: frontier.Drop, Authority: s.Authority("a"), For: time.Hour},
			"URLs with Park":     {Act: frontier.Park, Authority: s.Authority("a"), URLs: []canon.URL{s.URL("a/0")}},
			"a URL of another":   {Act: frontier.Drop, Authority: s.Authority("a"), URLs: []canon.URL{s.URL("b/0")}},
			"a URL that is none": {Act: frontier.Drop, Authority: s.Authority("a"), URLs: []canon.URL{{}}},
		} {
			if n, err := s.Frontier.Steer(s.Context(), c); err == nil {
				s.Fatalf("Steer with %s: %+v, want an error", why, n)
			}
		}
		Want(s, "what is still there", s.Pending(), "a/0")
	}},
	{Name: "steer: the same command again changes nothing", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		for _, act := range []frontier.Act{frontier.Park, frontier.Resume, frontier.Drop} {
			Want(s, "Changed", s.Steer(act, "a").Changed, true)
			s.Reopen()
			Want(s, "the same again", s.Steer(act, "a"), frontier.Steered{})
		}
	}},
}

// held fails unless the host is held like that.
func held(s *Stage, host string, act frontier.Act, wait time.Duration) {
	s.Helper()
	hold := frontier.Hold{}
	if act != 0 {
		hold = frontier.Hold{Act: act, Reason: reasonOf(act), Wait: wait}
	}
	Want(s, "Hold", s.Host(host).Hold, hold)
}

// waits fails unless the frontier waits for d.
func waits(s *Stage, d time.Duration) {
	s.Helper()
	c := s.Claim(9, 9)
	Want(s, "turns", len(c.Turns), 0)
	Want(s, "state", c.State, frontier.Waiting)
	Want(s, "due", c.Due, d)
	Want(s, "Stats.Due", s.Stats().Due, d)
}

// toRest has a host rest, and fails unless that is the change which is wanted.
func toRest(s *Stage, host string, d time.Duration, changes bool) {
	s.Helper()
	did := s.Command(frontier.Steering{Act: frontier.Rest, Authority: s.Authority(host), For: d})
	Want(s, "Rest", did, frontier.Steered{Changed: changes})
}

// dropRules are about hosts and URLs that an operator drops.
var dropRules = []rule{
	{Name: "drop: pending URLs are closed as Dropped by the operator, deferred ones too", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2", "a/3", "b/0"))
		t := s.Only("a/0")
		s.Postpone(t, frontier.Deferral{After: time.Hour})
		s.Finish(Fetched(s.Only("a/1")))
		Want(s, "Drop", s.Steer(frontier.Drop, "a"), frontier.Steered{Changed: true, URLs: 3})
		held(s, "a", frontier.Drop, 0)
		dropped(s, 3)
		Want(s, "Stopped", s.Stats().Stopped, 1)
		Want(s, "Discovered", s.Stats().Discovered, 5)
		Want(s, "Fetched of the host", s.Host("a").Outcomes[frontier.Fetched], 1)
		s.NotDue("dropped by an operator", "a")
		s.Drain(0)
		Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
		s.Reopen()
		held(s, "a", frontier.Drop, 0)
		dropped(s, 3)
	}},
	{Name: "drop: URLs found later are refused for that reason, until Resume", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		s.Steer(frontier.Drop, "a")
		Want(s, "links", s.Add(s.Links("a/1", "a/0"), s.Seeds("a/2")), frontier.Added{Refused: 2, Known: 1, Barred: []int{0, 2}})
		dropped(s, 3)
		s.Add(s.Links("b/0"))
		r := Fetched(s.Turn(1))
		r.Found = s.Links("a/3", "b/1")
		Want(s, "links of a page", s.Finish(r).Added, frontier.Added{New: 1, Refused: 1, Barred: []int{0}})
		s.Reopen()
		Want(s, "after a reopen", s.Add(s.Links("a/4")), frontier.Added{Refused: 1, Barred: []int{0}})
		dropped(s, 5)
		s.Steer(frontier.Resume, "a")
		Want(s, "after Resume", s.Add(s.Links("a/4", "a/5")), frontier.Added{New: 1, Known: 1})
		dropped(s, 5)
	}},
	{Name: "drop: what was closed stays closed after Resume, until Retry", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1"))
		s.Steer(frontier.Drop, "a")
		s.Add(s.Links("a/2"))
		s.Steer(frontier.Resume, "a")
		Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
		r := frontier.Retrial{Outcome: frontier.Dropped, Reason: frontier.ReasonOperator}
		Want(s, "Retried: what was refused never was a task", s.Retry(r), frontier.Retried{URLs: 2})
		Want(s, "the rest", s.Pending(), "a/0 a/1")
	}},
	{Name: "drop: what is leased is closed when the lease ends, unless its holder closes it", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 6)...))
		t := s.Turn(4)
		Want(s, "Drop", s.Steer(frontier.Drop, "a"), frontier.Steered{Changed: true, URLs: 2})
		Want(s, "InFlight", s.Host("a").InFlight, 4)
		r := Fetched(t, t.Tasks[0])
		r.Deferred = []frontier.Deferral{{Print: t.Tasks[1].Print, After: time.Hour}} // it would be pending, on a dropped host
		r.Keep, r.Want = true, 9
		f := s.Finish(r)
		Want(s, "more", Names(f.Tasks), "")
		Want(s, "Dropped of the Finish that defers one", f.Dropped, []frontier.Fingerprint{t.Tasks[1].Print})
		dropped(s, 3)
		last := Fetched(t, t.Tasks[2])
		Want(s, "Dropped of the last Finish", s.Finish(last).Dropped, []frontier.Fingerprint{t.Tasks[3].Print})
		dropped(s, 4)
		Want(s, "Dropped of its repeat", len(s.Finish(last).Dropped), 0)
		Want(s, "Fetched", s.Host("a").Outcomes[frontier.Fetched], 2)
		Want(s, "state", s.Claim(1, 1).State, frontier.Drained)
	}},
	{Name: "drop: of URLs closes these alone, and later ones are accepted", Test: func(s *Stage) {
		s.Add(s.Links("a/0", "a/1", "a/2", "b/1"))
		Want(s, "URLs", dropOnly(s, "a/1", "a/7"), 1)
		held(s, "a", 0, 0)
		dropped(s, 1)
		Want(s, "Stopped", s.Stats().Stopped, 0)
		Want(s, "later ones", s.Add(s.Links("a/3", "a/7", "a/1")), frontier.Added{New: 2, Known: 1})
		var us []string
		for _, u := range s.Drain(0) {
			if strings.HasPrefix(u, "a/") {
				us = append(us, u)
			}
		}
		Want(s, "the others", strings.Join(us, " "), "a/0 a/2 a/3 a/7")
		Want(s, "Retried", s.Retry(frontier.Retrial{Outcome: frontier.Dropped}), frontier.Retried{URLs: 1})
		Want(s, "the rest", s.Pending(), "a/1")
	}},
	{Name: "drop: of a URL that is leased, closed or unknown", Options: leased, Test: func(s *Stage) {
		s.Add(s.Links(Pages("a", 5)...))
		s.Finish(Fetched(s.Turn(1)))
		t := s.Turn(3)
		Want(s, "URLs", dropOnly(s, "a/0", "a/1", "a/2", "a/4", "a/9"), 1)
		Want(s, "Dropped", s.Finish(Fetched(t, t.Tasks[0])).Dropped, []frontier.Fingerprint{t.Tasks[1].Print})
		dropped(s, 2)
		Want(s, "the rest", s.Pending(), "a/3")
		Want(s, "Fetched", s.Host("a").Outcomes[frontier.Fetched], 3)
		Want(s, "URLs of an unknown host", s.Command(frontier.Steering{
			Act: frontier.Drop, Authority: s.Authority("z"), URLs: []canon.URL{s.URL("z/0")},
		}).URLs, 0)
	}},
	{Name: "drop: a crawl whose rest is dropped is Drained, and a claim that waits is told", Test: func(s *Stage) {
		s.Add(s.Links("a/0"))
		parkAll(s, s.Claim(1, 1), time.Hour)
		answer := s.Waiting(frontier.Want{MaxWait: 2 * time.Hour})
		s.Steer(frontier.Drop, "a")
		s.Ends(answer, frontier.Drained)
	}},
}

// dropped fails unless so many URLs are Dropped by the operator.
func dropped(s *Stage, n int64) {
	s.Helper()
	st := s.Stats()
	Want(s, "Dropped", st.Outcomes[frontier.Dropped], n)
	Want(s, "Dropped by the operator", st.Reasons[frontier.Dropped][frontier.ReasonOperator], n)
}

// dropOnly drops URLs of host a, and returns how many were closed.
func dropOnly(s *Stage, urls ...string) int64 {
	s.Helper()
	c := frontier.Steering{Act: frontier.Drop, Authority: s.Authority("a")}
	for _, u := range urls {
		c.URLs = append(c.URLs, s.URL(u))
	}
	return s.Command(c).URLs
}

// tellRules are about Options.Tell.
var tellRules = []rule{
	{Name: "tell: what an expired lease leaves of a Drop is told, before the Barrier", Test: tellLeft((*Stage).Outlast, (*Stage).Restart)},
	{Name: "tell: what an opening closes for a Drop is told at its first commit, once", Test: tellLeft((*Stage).Restart, (*Stage).Restart)},
	{Name: "tell: what a death keeps from being told or committed is told after it", Crash: true,
		Test: tellLeft(func(s *Stage) { s.Crash(); s.Crash() }, (*Stage).Crash)},
	{Name: "tell: URLs that are dropped by name are told as they were accepted, and once", Test: func(s *Stage) {
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
	}},
	{Name: "tell: what a call's answer names is not told again", Test: func(s *Stage) {
		var d operatorTold
		d.listen(s)
		s.Add(s.Links("a/0", "a/1", "a/2", "b/0"))
		t := s.Turn(2)
		s.Steer(frontier.Drop, "a")
		Want(s, "Dropped", len(s.Finish(Fetched(t, t.Tasks[0])).Dropped), 1)
		s.Sleep(2 * frontier.GroupDelay)
		d.want(s, "in all", "1 of http://a.test:80", "barrier")
	}},
	{Name: "tell: what cannot be told is not committed", Crash: true, Test: func(s *Stage) {
		d := operatorTold{fail: errors.New("no room")}
		d.listen(s)
		s.Add(s.Links("a/0"))
		s.Turn(1)
		s.Steer(frontier.Drop, "a")
		s.Outlast()
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
	}},
}

// operatorTold collects what Options.Tell and Options.Barrier are called with, in order.
type operatorTold struct {
	mu   sync.Mutex
	all  []string
	fail error
}

func (d *operatorTold) options() frontier.Options {
	return frontier.Options{
		LeaseLength: turnLength,
		Tell: func(_ context.Context, l frontier.Closings) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, c := range l.URLs {
				d.all = append(d.all, Short(c.URL)+" of "+c.Tag)
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
func (d *operatorTold) want(s *Stage, what string, all ...string) {
	s.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	Want(s, what, strings.Join(d.all, ", "), strings.Join(all, ", "))
	d.all = nil
}

// listen opens the frontier of s anew with d listening.
func (d *operatorTold) listen(s *Stage) {
	s.Helper()
	s.Reopen(d.options())
}

// tellLeft returns a test of what a Drop leaves under a lease, which ends in some way: it is told then, and not again.
func tellLeft(end, again func(s *Stage)) func(s *Stage) {
	return func(s *Stage) {
		var d operatorTold
		d.listen(s)
		s.Add(s.Links("a/0", "a/1", "a/2"))
		t := s.Turn(2)
		s.Steer(frontier.Drop, "a")
		d.want(s, "at the Drop", "1 of http://a.test:80", "barrier")
		end(s)
		dropped(s, 3)
		s.Sleep(2 * frontier.GroupDelay)
		d.want(s, "when the lease has ended", "a/0 of tag", "a/1 of tag", "barrier")
		s.Stale(Fetched(t))
		again(s)
		s.Sleep(2 * frontier.GroupDelay)
		d.want(s, "after a further opening")
		dropped(s, 3)
		Want(s, "Suspects", s.Stats().Suspects, 0)
	}
}
