package frontiertest

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/frontiertest/stage"
)

// steerRules are about what an operator commands: Park and Resume, and what both have in common with Drop.
func steerRules() []stage.Rule {
	o := frontier.Options{LeaseLength: stage.LeaseLength}
	return []stage.Rule{
		{Name: "park: no turn until Resume, its URLs stay and it takes new ones", Test: parkResume},
		{Name: "park: with a time it ends by itself, and a claim wakes", Test: parkFor},
		{Name: "park: a claim that waits is given the host that Resume opens", Test: parkWakes},
		{Name: "park: a turn that is out goes on with no more tasks, and the park holds from its end", Options: o, Test: parkLeased},
		{Name: "park: survives a close, with what is left of its time", Test: parkReopen},
		{Name: "park: a host that is not known yet is held when it is", Test: parkUnknown},
		{Name: "park: what turns say of the host changes nothing of it, nor it of that", Test: parkApart},
		{Name: "park: a later command takes the place of the one before", Test: parkReplaced},
		{Name: "resume: opens hosts that are retired or refused, others stay", Test: resumeOpens},
		{Name: "resume: the wait that the host is owed is not shortened", Test: resumeWaits},
		{Name: "rest: the host waits, and a longer wait stays", Test: restWaits},
		{Name: "rest: a turn that is out goes on, and the host rests after it", Options: o, Test: restLeased},
		{Name: "rest: no hold: Resume does not end it, and a hold stays", Test: restApart},
		{Name: "rest: a host that is not known yet rests when it is, also after a crash", Crash: true, Test: restUnknown},
		{Name: "steer: durable when it returns", Crash: true, Test: steerDurable},
		{Name: "steer: a command that makes no sense is refused, and no poison", Test: steerArguments},
		{Name: "steer: the same command again changes nothing", Test: steerTwice},
	}
}

// held fails unless the host is held like that.
func held(s *stage.Stage, host string, act frontier.Act, wait time.Duration) {
	s.Helper()
	hold := frontier.Hold{}
	if act != 0 {
		hold = frontier.Hold{Act: act, Reason: stage.ReasonOf(act), Wait: wait}
	}
	stage.Want(s, "Hold", s.Host(host).Hold, hold)
}

// waits fails unless the frontier waits for d.
func waits(s *stage.Stage, d time.Duration) {
	s.Helper()
	c := s.Claim(9, 9)
	stage.Want(s, "turns", len(c.Turns), 0)
	stage.Want(s, "state", c.State, frontier.Waiting)
	stage.Want(s, "due", c.Due, d)
	stage.Want(s, "Stats.Due", s.Stats().Due, d)
}

func parkResume(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "b/0"))
	stage.Want(s, "Park", s.Steer(frontier.Park, "a"), frontier.Steered{Changed: true})
	held(s, "a", frontier.Park, frontier.Never)
	stage.Want(s, "Stopped", s.Stats().Stopped, 1)
	stage.Want(s, "Parked, which is another matter", s.Stats().Parked, 0)
	stage.Want(s, "others", s.Pending(), "b/0")
	stage.Want(s, "New", s.Add(s.Links("a/2")), frontier.Added{New: 1})
	waits(s, frontier.Never)
	s.NotDue("parked by an operator", "a")
	stage.Want(s, "Queued", s.Host("a").Queued, 3)
	stage.Want(s, "Resume", s.Steer(frontier.Resume, "a"), frontier.Steered{Changed: true})
	held(s, "a", 0, 0)
	stage.Want(s, "Stopped", s.Stats().Stopped, 0)
	stage.Want(s, "the rest", s.Pending(), "a/0 a/1 a/2")
}

func parkFor(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Command(frontier.Steering{Act: frontier.Park, Authority: s.Authority("a"), For: time.Hour, Reason: stage.ReasonOf(frontier.Park)})
	held(s, "a", frontier.Park, time.Hour)
	waits(s, time.Hour)
	s.Sleep(20 * time.Minute)
	held(s, "a", frontier.Park, 40*time.Minute)
	s.NotDue("parked by an operator", "a")
	begin := time.Now()
	c := s.ClaimWithin(1, 1, time.Hour)
	stage.Want(s, "turns", len(c.Turns), 1)
	stage.Want(s, "time passed", time.Since(begin), 40*time.Minute)
	held(s, "a", 0, 0)
	stage.Want(s, "Stopped", s.Stats().Stopped, 0)
}

func parkWakes(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	s.Steer(frontier.Park, "a")
	s.Turn(1)
	answer := s.Waiting(frontier.Want{})
	s.Steer(frontier.Resume, "a")
	if c, err := answer(); err != nil || len(c.Turns) != 1 || stage.Names(c.Turns[0].Tasks) != "a/0" {
		s.Fatalf("Claim: %+v, error %v; want a/0", c, err)
	}
}

func parkLeased(s *stage.Stage) {
	s.Add(s.Links("a/0", "a/1", "a/2", "a/3"))
	t := s.Turn(2)
	stage.Want(s, "Park", s.Steer(frontier.Park, "a"), frontier.Steered{Changed: true})
	stage.Want(s, "leased", s.Host("a").Leased, true)
	r := stage.Fetched(t, t.Tasks[0])
	r.Keep, r.Want = true, 1
	stage.Want(s, "more tasks", stage.Names(s.Finish(r).Tasks), "")
	s.Finish(stage.Result(t))
	stage.Want(s, "Fetched", s.Host("a").Outcomes[frontier.Fetched], 1)
	waits(s, frontier.Never)
	s.Steer(frontier.Resume, "a")
	stage.Want(s, "the rest", s.Pending(), "a/1 a/2 a/3")
}

func parkReopen(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0", "c/0"))
	s.Command(frontier.Steering{Act: frontier.Park, Authority: s.Authority("a"), For: 3 * time.Hour, Reason: stage.ReasonOf(frontier.Park)})
	s.Command(frontier.Steering{Act: frontier.Park, Authority: s.Authority("b"), For: time.Hour, Reason: stage.ReasonOf(frontier.Park)})
	s.Steer(frontier.Park, "c")
	s.Sleep(10 * time.Minute)
	s.Close()
	s.Sleep(time.Hour)
	s.Open(s.Options)
	held(s, "a", frontier.Park, 110*time.Minute)
	held(s, "b", 0, 0)
	held(s, "c", frontier.Park, frontier.Never)
	stage.Want(s, "Stopped", s.Stats().Stopped, 2)
	stage.Want(s, "what is over", s.Pending(), "b/0")
	waits(s, 110*time.Minute)
	s.Sleep(110 * time.Minute)
	stage.Want(s, "what is over", s.Pending(), "a/0")
	waits(s, frontier.Never)
}

func parkUnknown(s *stage.Stage) {
	s.Steer(frontier.Park, "a")
	held(s, "a", frontier.Park, frontier.Never)
	s.NotDue("parked by an operator", "a")
	s.Reopen()
	stage.Want(s, "New", s.Add(s.Links("a/0")), frontier.Added{New: 1})
	waits(s, frontier.Never)
	s.Steer(frontier.Resume, "a")
	stage.Want(s, "the task", s.Pending(), "a/0")
	stage.Want(s, "Resume of one that is not known", s.Steer(frontier.Resume, "z"), frontier.Steered{})
}

func parkApart(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	t := s.Turn(1)
	host := stage.Names(t.Tasks)[:1]
	s.Steer(frontier.Park, host)
	r := stage.Result(t)
	r.Host = &frontier.HostUpdate{Condition: frontier.Parked, Reason: "status 503"}
	r.Wait = time.Hour
	s.Finish(r)
	held(s, host, frontier.Park, frontier.Never)
	h := s.Host(host)
	stage.Want(s, "condition", h.Condition, frontier.Parked)
	stage.Want(s, "reason", h.Reason, "status 503")
	stage.Want(s, "Wait, the park apart", h.Wait, time.Hour)
	s.Sleep(time.Hour)
	s.Finish(stage.Fetched(s.Turn(1)))
	waits(s, frontier.Never)
	s.Steer(frontier.Resume, host)
	stage.Want(s, "condition", s.Host(host).Condition, frontier.Parked)
	stage.Want(s, "the task", s.Pending(), host+"/0")
}

func parkReplaced(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	s.Steer(frontier.Park, "a")
	c := frontier.Steering{Act: frontier.Park, Authority: s.Authority("a"), For: time.Hour, Reason: "another"}
	stage.Want(s, "Park with a time", s.Command(c), frontier.Steered{Changed: true})
	stage.Want(s, "Hold", s.Host("a").Hold, frontier.Hold{Act: frontier.Park, Reason: "another", Wait: time.Hour})
	stage.Want(s, "Drop", s.Steer(frontier.Drop, "a"), frontier.Steered{Changed: true, URLs: 1})
	held(s, "a", frontier.Drop, 0)
	s.Sleep(2 * time.Hour)
	held(s, "a", frontier.Drop, 0)
	s.Command(c)
	stage.Want(s, "New", s.Add(s.Links("a/1")), frontier.Added{New: 1})
}

func resumeOpens(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0", "c/0", "d/0"))
	rest(s, frontier.Retired, frontier.Refused, frontier.Refused, frontier.Open)
	stage.Want(s, "Resume a", s.Steer(frontier.Resume, "a"), frontier.Steered{Changed: true})
	stage.Want(s, "Resume b", s.Steer(frontier.Resume, "b"), frontier.Steered{Changed: true})
	stage.Want(s, "Resume d", s.Steer(frontier.Resume, "d"), frontier.Steered{})
	for host, c := range map[string]frontier.Condition{"a": frontier.Open, "b": frontier.Open, "c": frontier.Refused} {
		stage.Want(s, "condition of "+host, s.Host(host).Condition, c)
	}
	stage.Want(s, "what is open", len(s.Drain(time.Hour)), 3)
	stage.Want(s, "the robots state stays", len(s.Host("a").Robots) > 0, true)
}

func resumeWaits(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0"))
	stage.ParkAll(s, s.Claim(2, 1), time.Hour, 2*time.Hour)
	for _, h := range []string{"a", "b"} {
		s.Steer(frontier.Park, h)
	}
	waits(s, frontier.Never)
	s.Sleep(time.Minute)
	for _, h := range []string{"a", "b"} {
		s.Steer(frontier.Resume, h)
	}
	waits(s, 59*time.Minute)
}

func steerDurable(s *stage.Stage) {
	s.Add(s.Links("a/0", "b/0", "b/1", "c/0", "c/1"))
	s.Steer(frontier.Park, "a")
	s.Crash()
	held(s, "a", frontier.Park, frontier.Never)
	s.Steer(frontier.Resume, "a")
	s.Crash()
	held(s, "a", 0, 0)
	stage.Want(s, "Drop", s.Steer(frontier.Drop, "b"), frontier.Steered{Changed: true, URLs: 2})
	s.Crash()
	held(s, "b", frontier.Drop, 0)
	stage.Want(s, "Dropped", s.Host("b").Outcomes[frontier.Dropped], 2)
	s.Command(frontier.Steering{Act: frontier.Drop, Authority: s.Authority("c"), URLs: []canon.URL{s.URL("c/0")}})
	s.Crash()
	stage.Want(s, "Dropped", s.Host("c").Outcomes[frontier.Dropped], 1)
}

func steerArguments(s *stage.Stage) {
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
	stage.Want(s, "what is still there", s.Pending(), "a/0")
}

func steerTwice(s *stage.Stage) {
	s.Add(s.Links("a/0"))
	for _, act := range []frontier.Act{frontier.Park, frontier.Resume, frontier.Drop} {
		stage.Want(s, "Changed", s.Steer(act, "a").Changed, true)
		s.Reopen()
		stage.Want(s, "the same again", s.Steer(act, "a"), frontier.Steered{})
	}
}
