package frontiertest

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// steerRules are about what an operator commands: Park and Resume, and what both have in common with Drop.
func steerRules() []rule {
	o := frontier.Options{LeaseLength: length}
	return []rule{
		{name: "park: no turn until Resume, its URLs stay and it takes new ones", test: parkResume},
		{name: "park: with a time it ends by itself, and a claim wakes", test: parkFor},
		{name: "park: a claim that waits is given the host that Resume opens", test: parkWakes},
		{name: "park: a turn that is out goes on with no more tasks, and the park holds from its end", o: o, test: parkLeased},
		{name: "park: survives a close, with what is left of its time", test: parkReopen},
		{name: "park: a host that is not known yet is held when it is", test: parkUnknown},
		{name: "park: what turns say of the host changes nothing of it, nor it of that", test: parkApart},
		{name: "park: a later command takes the place of the one before", test: parkReplaced},
		{name: "resume: opens hosts that are retired or refused, others stay", test: resumeOpens},
		{name: "resume: the wait that the host is owed is not shortened", test: resumeWaits},
		{name: "steer: durable when it returns", crash: true, test: steerDurable},
		{name: "steer: a command that makes no sense is refused, and no poison", test: steerArguments},
		{name: "steer: the same command again changes nothing", test: steerTwice},
	}
}

// steer gives a command about a host.
func (s *stage) steer(act frontier.Act, host string) frontier.Steered {
	s.Helper()
	return s.command(frontier.Steering{Act: act, Authority: s.auth(host), Reason: reasonOf(act)})
}

// reasonOf returns a reason for acts that take one.
func reasonOf(act frontier.Act) string {
	if act == frontier.Resume {
		return ""
	}
	return "an operator says so"
}

func (s *stage) command(c frontier.Steering) frontier.Steered {
	s.Helper()
	n, err := s.f.Steer(s.Context(), c)
	if err != nil {
		s.Fatalf("Steer %+v: %v", c, err)
	}
	s.sums()
	return n
}

// held fails unless the host is held like that.
func (s *stage) held(host string, act frontier.Act, wait time.Duration) {
	s.Helper()
	hold := frontier.Hold{}
	if act != 0 {
		hold = frontier.Hold{Act: act, Reason: reasonOf(act), Wait: wait}
	}
	want(s, "Hold", s.host(host).Hold, hold)
}

// waits fails unless the frontier waits for d.
func (s *stage) waits(d time.Duration) {
	s.Helper()
	c := s.claim(9, 9)
	want(s, "turns", len(c.Turns), 0)
	want(s, "state", c.State, frontier.Waiting)
	want(s, "due", c.Due, d)
	want(s, "Stats.Due", s.stats().Due, d)
}

func parkResume(s *stage) {
	s.add(s.links("a/0", "a/1", "b/0"))
	want(s, "Park", s.steer(frontier.Park, "a"), frontier.Steered{Changed: true})
	s.held("a", frontier.Park, frontier.Never)
	want(s, "Stopped", s.stats().Stopped, 1)
	want(s, "Parked, which is another matter", s.stats().Parked, 0)
	want(s, "others", s.all(), "b/0")
	want(s, "New", s.add(s.links("a/2")), frontier.Added{New: 1})
	s.waits(frontier.Never)
	s.notDue("parked by an operator", "a")
	want(s, "Queued", s.host("a").Queued, 3)
	want(s, "Resume", s.steer(frontier.Resume, "a"), frontier.Steered{Changed: true})
	s.held("a", 0, 0)
	want(s, "Stopped", s.stats().Stopped, 0)
	want(s, "the rest", s.all(), "a/0 a/1 a/2")
}

func parkFor(s *stage) {
	s.add(s.links("a/0"))
	s.command(frontier.Steering{Act: frontier.Park, Authority: s.auth("a"), For: time.Hour, Reason: reasonOf(frontier.Park)})
	s.held("a", frontier.Park, time.Hour)
	s.waits(time.Hour)
	s.sleep(20 * time.Minute)
	s.held("a", frontier.Park, 40*time.Minute)
	s.notDue("parked by an operator", "a")
	begin := time.Now()
	c := s.claimWithin(1, 1, time.Hour)
	want(s, "turns", len(c.Turns), 1)
	want(s, "time passed", time.Since(begin), 40*time.Minute)
	s.held("a", 0, 0)
	want(s, "Stopped", s.stats().Stopped, 0)
}

func parkWakes(s *stage) {
	s.add(s.links("a/0", "b/0"))
	s.steer(frontier.Park, "a")
	s.turn(1)
	answer := s.waiting(frontier.Want{})
	s.steer(frontier.Resume, "a")
	if c, err := answer(); err != nil || len(c.Turns) != 1 || names(c.Turns[0].Tasks) != "a/0" {
		s.Fatalf("Claim: %+v, error %v; want a/0", c, err)
	}
}

func parkLeased(s *stage) {
	s.add(s.links("a/0", "a/1", "a/2", "a/3"))
	t := s.turn(2)
	want(s, "Park", s.steer(frontier.Park, "a"), frontier.Steered{Changed: true})
	want(s, "leased", s.host("a").Leased, true)
	r := fetched(t, t.Tasks[0])
	r.Keep, r.Want = true, 1
	want(s, "more tasks", names(s.finish(r).Tasks), "")
	s.finish(result(t))
	want(s, "Fetched", s.host("a").Outcomes[frontier.Fetched], 1)
	s.waits(frontier.Never)
	s.steer(frontier.Resume, "a")
	want(s, "the rest", s.all(), "a/1 a/2 a/3")
}

func parkReopen(s *stage) {
	s.add(s.links("a/0", "b/0", "c/0"))
	s.command(frontier.Steering{Act: frontier.Park, Authority: s.auth("a"), For: 3 * time.Hour, Reason: reasonOf(frontier.Park)})
	s.command(frontier.Steering{Act: frontier.Park, Authority: s.auth("b"), For: time.Hour, Reason: reasonOf(frontier.Park)})
	s.steer(frontier.Park, "c")
	s.sleep(10 * time.Minute)
	s.close()
	s.sleep(time.Hour)
	s.open(s.o)
	s.held("a", frontier.Park, 110*time.Minute)
	s.held("b", 0, 0)
	s.held("c", frontier.Park, frontier.Never)
	want(s, "Stopped", s.stats().Stopped, 2)
	want(s, "what is over", s.all(), "b/0")
	s.waits(110 * time.Minute)
	s.sleep(110 * time.Minute)
	want(s, "what is over", s.all(), "a/0")
	s.waits(frontier.Never)
}

func parkUnknown(s *stage) {
	s.steer(frontier.Park, "a")
	s.held("a", frontier.Park, frontier.Never)
	s.notDue("parked by an operator", "a")
	s.reopen()
	want(s, "New", s.add(s.links("a/0")), frontier.Added{New: 1})
	s.waits(frontier.Never)
	s.steer(frontier.Resume, "a")
	want(s, "the task", s.all(), "a/0")
	want(s, "Resume of one that is not known", s.steer(frontier.Resume, "z"), frontier.Steered{})
}

func parkApart(s *stage) {
	s.add(s.links("a/0", "b/0"))
	t := s.turn(1)
	host := names(t.Tasks)[:1]
	s.steer(frontier.Park, host)
	r := result(t)
	r.Host = &frontier.HostUpdate{Condition: frontier.Parked, Reason: "status 503"}
	r.Wait = time.Hour
	s.finish(r)
	s.held(host, frontier.Park, frontier.Never)
	h := s.host(host)
	want(s, "condition", h.Condition, frontier.Parked)
	want(s, "reason", h.Reason, "status 503")
	want(s, "Wait, the park apart", h.Wait, time.Hour)
	s.sleep(time.Hour)
	s.finish(fetched(s.turn(1)))
	s.waits(frontier.Never)
	s.steer(frontier.Resume, host)
	want(s, "condition", s.host(host).Condition, frontier.Parked)
	want(s, "the task", s.all(), host+"/0")
}

func parkReplaced(s *stage) {
	s.add(s.links("a/0"))
	s.steer(frontier.Park, "a")
	c := frontier.Steering{Act: frontier.Park, Authority: s.auth("a"), For: time.Hour, Reason: "another"}
	want(s, "Park with a time", s.command(c), frontier.Steered{Changed: true})
	want(s, "Hold", s.host("a").Hold, frontier.Hold{Act: frontier.Park, Reason: "another", Wait: time.Hour})
	want(s, "Drop", s.steer(frontier.Drop, "a"), frontier.Steered{Changed: true, URLs: 1})
	s.held("a", frontier.Drop, 0)
	s.sleep(2 * time.Hour)
	s.held("a", frontier.Drop, 0)
	s.command(c)
	want(s, "New", s.add(s.links("a/1")), frontier.Added{New: 1})
}

func resumeOpens(s *stage) {
	s.add(s.links("a/0", "b/0", "c/0", "d/0"))
	s.rest(frontier.Retired, frontier.Refused, frontier.Refused, frontier.Open)
	want(s, "Resume a", s.steer(frontier.Resume, "a"), frontier.Steered{Changed: true})
	want(s, "Resume b", s.steer(frontier.Resume, "b"), frontier.Steered{Changed: true})
	want(s, "Resume d", s.steer(frontier.Resume, "d"), frontier.Steered{})
	for host, c := range map[string]frontier.Condition{"a": frontier.Open, "b": frontier.Open, "c": frontier.Refused} {
		want(s, "condition of "+host, s.host(host).Condition, c)
	}
	want(s, "what is open", len(s.drain(time.Hour)), 3)
	want(s, "the robots state stays", len(s.host("a").Robots) > 0, true)
}

func resumeWaits(s *stage) {
	s.add(s.links("a/0", "b/0"))
	s.parkAll(s.claim(2, 1), time.Hour, 2*time.Hour)
	for _, h := range []string{"a", "b"} {
		s.steer(frontier.Park, h)
	}
	s.waits(frontier.Never)
	s.sleep(time.Minute)
	for _, h := range []string{"a", "b"} {
		s.steer(frontier.Resume, h)
	}
	s.waits(59 * time.Minute)
}

func steerDurable(s *stage) {
	s.add(s.links("a/0", "b/0", "b/1", "c/0", "c/1"))
	s.steer(frontier.Park, "a")
	s.crash()
	s.held("a", frontier.Park, frontier.Never)
	s.steer(frontier.Resume, "a")
	s.crash()
	s.held("a", 0, 0)
	want(s, "Drop", s.steer(frontier.Drop, "b"), frontier.Steered{Changed: true, URLs: 2})
	s.crash()
	s.held("b", frontier.Drop, 0)
	want(s, "Dropped", s.host("b").Outcomes[frontier.Dropped], 2)
	s.command(frontier.Steering{Act: frontier.Drop, Authority: s.auth("c"), URLs: []canon.URL{s.url("c/0")}})
	s.crash()
	want(s, "Dropped", s.host("c").Outcomes[frontier.Dropped], 1)
}

func steerArguments(s *stage) {
	s.add(s.links("a/0"))
	for why, c := range map[string]frontier.Steering{
		"no act":             {Authority: s.auth("a")},
		"an unknown act":     {Act: 9, Authority: s.auth("a")},
		"no host":            {Act: frontier.Park},
		"a negative time":    {Act: frontier.Park, Authority: s.auth("a"), For: -1},
		"a time with Drop":   {Act: frontier.Drop, Authority: s.auth("a"), For: time.Hour},
		"URLs with Park":     {Act: frontier.Park, Authority: s.auth("a"), URLs: []canon.URL{s.url("a/0")}},
		"a URL of another":   {Act: frontier.Drop, Authority: s.auth("a"), URLs: []canon.URL{s.url("b/0")}},
		"a URL that is none": {Act: frontier.Drop, Authority: s.auth("a"), URLs: []canon.URL{{}}},
	} {
		if n, err := s.f.Steer(s.Context(), c); err == nil {
			s.Fatalf("Steer with %s: %+v, want an error", why, n)
		}
	}
	want(s, "what is still there", s.all(), "a/0")
}

func steerTwice(s *stage) {
	s.add(s.links("a/0"))
	for _, act := range []frontier.Act{frontier.Park, frontier.Resume, frontier.Drop} {
		want(s, "Changed", s.steer(act, "a").Changed, true)
		s.reopen()
		want(s, "the same again", s.steer(act, "a"), frontier.Steered{})
	}
}
