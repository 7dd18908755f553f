package frontiertest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

var modelSecret = []byte("frontiertest: a secret for tests") // constant, so that models of the same calls agree

// state is the state of a frontier. It depends only on the steps.
type state struct {
	options  frontier.Options // of the latest opening
	openings int64
	unclean  bool      // before the latest opening
	known    int64     // hosts at the latest opening
	results  int64     // applied since
	opened   time.Time // at the latest opening
	floor    time.Time // no host is due before, unless its own RestartPace is over

	hosts    map[canon.Authority]*host
	order    []*host         // in the order in which they became known
	seen     map[string]bool // by key
	accepted int64           // of these, the ones that became tasks

	seeds  []frontier.Seed
	ended  map[ending]int64 // URLs and refused candidates
	capped map[string]int64 // links, by reason
	counts map[string]int64 // of results
}

type ending struct {
	outcome frontier.Outcome
	reason  string
}

type step struct {
	at       time.Time
	recorded recordTime
	take     func(s *state)
}

// recordTime is when an engine must record the leases that are out after a step.
type recordTime int

const (
	perhaps recordTime = iota // never, or at any time
	soon                      // within GroupDelay
	always                    // when the step is durable
)

func do[T any](f *follower, r recordTime, take func(s *state, now time.Time) T) T {
	now := time.Now()
	f.steps = append(f.steps, step{at: now, recorded: r, take: func(s *state) { take(s, now) }})
	return take(f.state, now)
}

// fold returns the state after steps.
func fold(steps []step) *state {
	s := &state{
		hosts: map[canon.Authority]*host{}, seen: map[string]bool{},
		ended: map[ending]int64{}, capped: map[string]int64{}, counts: map[string]int64{},
	}
	for _, x := range steps {
		x.take(s)
	}
	return s
}

// open begins a run: no lease is out, retired hosts are open, and no host is due before its stored time or its pace.
// After an unclean stop the floor holds for every authority, also for one that is not known yet: its discovery and a
// request just before the stop may have been lost.
func (s *state) open(now time.Time, o frontier.Options, unclean bool, flight []suspicion) {
	s.options, s.unclean, s.opened = o, unclean, now
	s.openings++
	s.known, s.results = int64(len(s.order)), 0
	if unclean {
		s.floor = now.Add(o.Pace)
	}
	for _, h := range s.order {
		s.takeBack(h)
	}
	for _, x := range flight {
		h := s.hosts[x.authority]
		t := h.find(x.print)
		if t == nil {
			continue
		}
		t.Stops++
		t.alone += x.alone
		if t.alone >= frontier.QuarantineStops {
			s.end(h, t, frontier.Failed, frontier.ReasonQuarantined)
		}
	}
	for _, h := range s.order {
		if h.update.Condition == frontier.Retired {
			h.update.Condition, h.update.Reason = frontier.Open, ""
		}
		if h.update.Pace > 0 {
			h.wait(now, h.update.Pace)
		}
		h.wait(s.restartFloor(h.authority), 0)
	}
}

// restartFloor is the end of the floor of a. The rest of a floor at a clean stop still holds.
func (s *state) restartFloor(a canon.Authority) time.Time {
	if at := s.opened.Add(s.options.RestartPace(a)); at.Before(s.floor) {
		return at
	}
	return s.floor
}

// host returns the host of a, which is known from then on.
func (s *state) host(now time.Time, a canon.Authority) *host {
	h := s.hosts[a]
	if h == nil {
		h = &host{authority: a, domain: a.RegistrableDomain(), notBefore: now}
		h.wait(s.restartFloor(a), 0)
		s.hosts[a] = h
		s.order = append(s.order, h)
	}
	return h
}

// accept adds the new candidates, in order.
func (s *state) accept(now time.Time, cs []frontier.Candidate) (n frontier.Added) {
	for i, c := range cs {
		a, refused, over := c.URL.Authority(), c.Refused, ""
		if h := s.hosts[a]; refused == "" && h != nil && h.hold.act == frontier.Drop {
			refused = frontier.ReasonOperator
			if !s.seen[c.URL.Key()] {
				n.Barred = append(n.Barred, i)
			}
		}
		if c.Kind != frontier.KindSeed {
			over = s.over(a)
		}
		switch {
		case s.seen[c.URL.Key()]:
			n.Known++
		case refused != "":
			s.seen[c.URL.Key()] = true
			s.count(s.host(now, a), ending{frontier.Dropped, refused}, 1)
			n.Refused++
		case over != "":
			s.capped[over]++
			n.Capped++
		default:
			s.seen[c.URL.Key()] = true
			h := s.host(now, a)
			h.accepted++
			s.accepted++
			h.pending = append(h.pending, newTask(c, s.accepted))
			n.New++
		}
	}
	return n
}

// over returns the reason of the first cap without room for a URL of a, or nothing.
func (s *state) over(a canon.Authority) string {
	o, domain := s.options, ""
	if o.MaxURLsPerDomain > 0 {
		domain = a.RegistrableDomain()
	}
	var ofHost, ofDomain int64
	for _, h := range s.order {
		if h.authority == a {
			ofHost = h.accepted
		}
		if h.domain == domain {
			ofDomain += h.accepted
		}
	}
	switch {
	case o.MaxURLs > 0 && s.accepted >= o.MaxURLs:
		return frontier.ReasonCapCrawl
	case o.MaxURLsPerDomain > 0 && ofDomain >= o.MaxURLsPerDomain:
		return frontier.ReasonCapDomain
	case o.MaxURLsPerAuthority > 0 && ofHost >= o.MaxURLsPerAuthority:
		return frontier.ReasonCapHost
	}
	return ""
}

func (s *state) count(h *host, e ending, n int64) {
	h.outcomes[e.outcome] += n
	s.ended[e] += n
}

func (s *state) end(h *host, t *task, o frontier.Outcome, reason string) {
	h.pending = slices.DeleteFunc(h.pending, func(x *task) bool { return x == t })
	t.ending = ending{o, reason}
	h.closed = append(h.closed, t)
	s.count(h, t.ending, 1)
}

func (s *state) length() time.Duration {
	if s.options.LeaseLength > 0 {
		return s.options.LeaseLength
	}
	return 40 * time.Minute
}

// takeBack ends the lease of h, if there is one, with nothing settled. Its tasks have never left their place in the
// queue. No Finished names those that an operator has dropped.
func (s *state) takeBack(h *host) {
	if h.lease == nil {
		return
	}
	for _, t := range h.lease.tasks {
		t.leased = false
		if t.drop {
			s.end(h, t, frontier.Dropped, frontier.ReasonOperator)
		}
	}
	h.lease = nil
}

// settle applies a result whose token has been checked. It ignores tasks that are not under the lease: an earlier
// Finish of the turn settled them, or they are unknown.
func (s *state) settle(now time.Time, r frontier.Result) (f frontier.Finished) {
	h := s.hosts[r.Authority]
	s.results++
	for _, d := range r.Done {
		if t := h.lease.takeOut(d.Print); t != nil {
			s.end(h, t, d.Outcome, d.Reason)
		}
	}
	drop := func(t *task) {
		f.Dropped = append(f.Dropped, t.Print)
		s.end(h, t, frontier.Dropped, frontier.ReasonOperator)
	}
	for _, d := range r.Deferred {
		switch t := h.lease.takeOut(d.Print); {
		case t == nil:
		case t.drop:
			drop(t)
		default:
			t.deferUntil(now.Add(max(d.After, 0)), d)
		}
	}
	if r.Host != nil {
		h.update = *r.Host
	}
	h.wait(now, r.Wait)
	if !r.Keep {
		for _, t := range h.lease.tasks {
			if t.leased = false; t.drop {
				drop(t)
			}
		}
		h.finished, h.lease = r.Token, nil
	}
	s.seeds = append(s.seeds, r.Extend...)
	for name, n := range r.Counts {
		s.counts[name] += n
	}
	f.Added = s.accept(now, r.Found)
	return f
}

// retry reopens URLs, at their old places, and hosts.
func (s *state) retry(r frontier.Retrial) (n frontier.Retried) {
	for _, h := range s.order {
		if !r.Authority.IsZero() && h.authority != r.Authority {
			continue
		}
		before := n
		h.closed = slices.DeleteFunc(h.closed, func(t *task) bool {
			if t.outcome != r.Outcome || r.Reason != "" && t.reason != r.Reason {
				return false
			}
			s.count(h, t.ending, -1)
			n.URLs++
			t = newTask(t.first, t.number)
			if r.Outcome == frontier.Held {
				t.Reason = frontier.ReasonReleased
			}
			h.pending = append(h.pending, t)
			return true
		})
		slices.SortFunc(h.pending, func(a, b *task) int { return int(a.number - b.number) })
		if h.lease != nil {
			continue
		}
		if r.Hosts && !h.claimable() {
			h.update.Condition, h.update.Reason = frontier.Open, ""
			n.Hosts++
		}
		if r.Robots && n != before {
			h.update.Robots = nil
		}
	}
	return n
}

func (s *state) steer(now time.Time, c frontier.Steering) frontier.Steered {
	if s.hosts[c.Authority] == nil && (len(c.URLs) > 0 || c.Act == frontier.Resume) {
		return frontier.Steered{}
	}
	h := s.host(now, c.Authority)
	before := *h
	drop := func(t *task) { // now, or when its lease ends
		if t.drop = t.leased; !t.leased {
			s.end(h, t, frontier.Dropped, frontier.ReasonOperator)
		}
	}
	switch {
	case len(c.URLs) > 0:
		for _, u := range c.URLs {
			if t := h.taskOf(u); t != nil {
				drop(t)
			}
		}
	case c.Act == frontier.Drop:
		h.hold = hold{act: frontier.Drop, reason: c.Reason}
		for _, t := range slices.Clone(h.pending) {
			drop(t)
		}
	case c.Act == frontier.Park:
		h.hold = hold{act: frontier.Park, reason: c.Reason}
		if c.For > 0 {
			h.hold.until = now.Add(c.For)
		}
	case c.Act == frontier.Rest:
		h.wait(now, c.For)
	default:
		h.hold = hold{}
		if h.lease == nil && !h.claimable() {
			h.update.Condition, h.update.Reason = frontier.Open, ""
		}
	}
	longer := h.notBefore.After(before.notBefore) && h.notBefore.After(now)
	return frontier.Steered{
		Changed: before.hold.at(now) != h.hold.at(now) || before.claimable() != h.claimable() || longer,
		URLs:    h.outcomes[frontier.Dropped] - before.outcomes[frontier.Dropped],
	}
}

// suspicion is a task in flight at an unclean stop.
type suspicion struct {
	authority canon.Authority
	print     frontier.Fingerprint
	alone     int // 1 when nothing else was in flight
}

// flight returns the tasks in flight, as an engine should record them: of each lease the first unsettled tasks, as many
// as its Width.
func (s *state) flight() (all []suspicion) {
	for _, h := range s.order {
		if l := h.lease; l != nil {
			for _, t := range l.tasks[:min(len(l.tasks), l.width)] {
				all = append(all, suspicion{authority: h.authority, print: t.Print})
			}
		}
	}
	if len(all) == 1 {
		all[0].alone = 1
	}
	return all
}

func (s *state) summary(now time.Time) (frontier.State, time.Duration) {
	pending, leased, due := false, false, frontier.Never
	for _, h := range s.order {
		pending, leased = pending || len(h.pending) > 0, leased || h.lease != nil
		if at, ok := h.due(); ok {
			due = min(due, max(at.Sub(now), 0))
		}
	}
	switch {
	case !pending && !leased:
		return frontier.Drained, 0
	case leased || due == 0:
		return frontier.Busy, 0
	}
	return frontier.Waiting, due
}

// sumOf returns the totals that are sums over the hosts.
func sumOf(hosts []frontier.Host) (st frontier.Stats) {
	count := func(n *int64, yes bool) {
		if yes {
			*n++
		}
	}
	for _, v := range hosts {
		st.Hosts++
		st.Queued += v.Queued
		st.InFlight += v.InFlight
		st.Deferred += v.Deferred
		st.Discovered += v.Pending()
		for o, n := range v.Outcomes {
			st.Outcomes[o] += n
			st.Discovered += n
		}
		count(&st.Leases, v.Leased)
		count(&st.Pending, v.Pending() > 0)
		count(&st.Stopped, v.Hold.Act != 0)
		count(&st.Parked, v.Condition == frontier.Parked)
		count(&st.Retired, v.Condition == frontier.Retired)
		count(&st.Refused, v.Condition == frontier.Refused)
	}
	return st
}

func (s *state) stats(now time.Time) frontier.Stats {
	st := sumOf(s.views(now))
	st.Capped, st.Counts, st.Unclean, st.Restarts = maps.Clone(s.capped), maps.Clone(s.counts), s.unclean, s.openings-1
	st.Reasons = map[frontier.Outcome]map[string]int64{}
	st.State, st.Due = s.summary(now)
	for _, h := range s.order {
		for _, t := range h.pending {
			if t.Stops > 0 {
				st.Suspects++
			}
		}
	}
	for e, n := range s.ended {
		if e.reason == "" || n == 0 {
			continue
		}
		if st.Reasons[e.outcome] == nil {
			st.Reasons[e.outcome] = map[string]int64{}
		}
		st.Reasons[e.outcome][e.reason] = n
	}
	return st
}

// views returns the hosts as readers see them, in the order in which they became known.
func (s *state) views(now time.Time) (all []frontier.Host) {
	for _, h := range s.order {
		all = append(all, h.view(now))
	}
	return all
}

// view returns h as readers see it, sharing nothing with the state.
func (h *host) view(now time.Time) frontier.Host {
	v := frontier.Host{
		Authority: h.authority, HostUpdate: h.update, Hold: h.hold.view(now), Outcomes: h.outcomes,
		Wait: max(h.notBefore.Sub(now), 0), Leased: h.lease != nil,
	}
	v.Robots, v.Memory = slices.Clone(v.Robots), slices.Clone(v.Memory)
	for _, t := range h.pending {
		switch {
		case t.leased:
			v.InFlight++
		case t.deferred:
			v.Deferred++
		default:
			v.Queued++
		}
	}
	return v
}

func (s *state) survey(now time.Time, n int) frontier.Survey {
	v := frontier.Survey{Why: map[frontier.Condition]map[string]int64{}, Holds: map[frontier.Act]int64{}}
	for _, x := range s.views(now) {
		x.Robots, x.Memory = nil, nil
		if x.Condition != frontier.Open {
			if v.Why[x.Condition] == nil {
				v.Why[x.Condition] = map[string]int64{}
			}
			v.Why[x.Condition][x.Reason]++
		}
		if x.Hold.Act != 0 {
			v.Holds[x.Hold.Act]++
		}
		if x.Pending() == 0 {
			continue
		}
		v.Longest = append(v.Longest, x)
		if x.Condition != frontier.Open || x.Hold.Act != 0 {
			v.Shut = append(v.Shut, x)
		}
	}
	for _, hosts := range []*[]frontier.Host{&v.Longest, &v.Shut} {
		slices.SortStableFunc(*hosts, func(a, b frontier.Host) int { return cmp.Compare(b.Pending(), a.Pending()) })
		*hosts = (*hosts)[:min(len(*hosts), max(n, 0))]
	}
	return v
}

// Picture is the visible state of a frontier: facts by name, without those that the contract leaves open: whether a
// deferred task that is due counts as Queued or Deferred, the Wait of a host that has nothing queued, the Reason of an
// Open host, and how many leases expired.
type Picture map[string]string

func takePicture(st frontier.Stats, hosts []frontier.Host, seeds []frontier.Seed) Picture {
	st.Queued, st.Deferred, st.Size = st.Queued+st.Deferred, 0, 0
	if st.State != frontier.Waiting {
		st.Due = 0
	}
	st.Capped, st.Counts = maps.Clone(st.Capped), maps.Clone(st.Counts)
	maps.DeleteFunc(st.Capped, func(_ string, n int64) bool { return n == 0 })
	delete(st.Counts, frontier.ReasonExpired)
	p := Picture{"seeds": fmt.Sprint(seeds)}
	p.add("", st)
	for _, h := range hosts {
		if h.Queued == 0 || h.Leased || h.Condition != frontier.Open && h.Condition != frontier.Parked {
			h.Wait = 0
		}
		if h.Condition == frontier.Open {
			h.Reason = ""
		}
		h.Width, h.Moved, h.Elsewhere = max(h.Width, 1), false, false
		h.Queued, h.Deferred = h.Queued+h.Deferred, 0
		p.add(h.Authority.String()+" ", h)
	}
	return p
}

func (p Picture) add(name string, of any) {
	for f, v := range reflect.ValueOf(of).Fields() {
		p[name+f.Name] = fmt.Sprintf("%+v", v)
	}
}

// Diff returns the differing facts, one a line, or nothing.
func (p Picture) Diff(q Picture) string {
	all := maps.Clone(p)
	maps.Copy(all, q)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if p[name] != q[name] {
			fmt.Fprintf(&b, "\n  %s: %q, then %q", name, p[name], q[name])
		}
	}
	return b.String()
}

type host struct {
	authority canon.Authority
	domain    string // registrable
	update    frontier.HostUpdate
	notBefore time.Time
	accepted  int64
	outcomes  frontier.Outcomes
	hold      hold
	lease     *lease // the turn that is out, or nil

	// pending holds the open tasks in the order of acceptance, breadth first. Leased and deferred tasks keep their
	// places; so a task that a turn does not settle is at the head again. Depth first they are given from the other
	// end.
	pending []*task
	closed  []*task

	finished frontier.Token // of the last Finish that ended a turn
}

type lease struct {
	token   frontier.Token
	expires time.Time
	tasks   []*task // not settled yet
	width   int
	stops   int // of the suspect whose turn it is, or zero
}

type task struct {
	frontier.Task
	first    frontier.Candidate // as it was accepted
	number   int64              // in the order of acceptance
	leased   bool
	deferred bool
	due      time.Time // with deferred: earliest next attempt
	drop     bool      // to be closed as Dropped by the operator when its lease ends
	alone    int       // of Stops, those at which nothing else was in flight
	ending             // zero while it is pending
}

func newTask(c frontier.Candidate, number int64) *task {
	return &task{Task: frontier.Task{Candidate: c, Print: frontier.Print(modelSecret, c.URL)}, first: c, number: number}
}

// deferUntil defers t. A suspect that is deferred has not crashed the process.
func (t *task) deferUntil(due time.Time, d frontier.Deferral) {
	t.deferred, t.due, t.Task.Reason = true, due, d.Reason
	t.Stops, t.alone = 0, 0
	if d.URL.IsZero() {
		t.Attempts++
		return
	}
	t.URL, t.Replaced = d.URL, true
}

type hold struct {
	act    frontier.Act
	reason string
	until  time.Time // with Park: when it ends; zero means never
}

// at returns k, or nothing when its time is over.
func (k hold) at(now time.Time) hold {
	if !k.until.IsZero() && !k.until.After(now) {
		return hold{}
	}
	return k
}

func (k hold) view(now time.Time) frontier.Hold {
	k = k.at(now)
	v := frontier.Hold{Act: k.act, Reason: k.reason}
	switch {
	case k.act == frontier.Park && k.until.IsZero():
		v.Wait = frontier.Never
	case k.act == frontier.Park:
		v.Wait = k.until.Sub(now)
	}
	return v
}

// wait puts h off until d from now. A longer wait stays; a negative one counts as zero.
func (h *host) wait(now time.Time, d time.Duration) {
	if t := now.Add(max(d, 0)); t.After(h.notBefore) {
		h.notBefore = t
	}
}

func (h *host) find(p frontier.Fingerprint) *task {
	return first(h.pending, func(t *task) bool { return t.Print == p })
}

func (h *host) taskOf(u canon.URL) *task {
	return first(h.pending, func(t *task) bool { return t.URL.Key() == u.Key() })
}

func first(ts []*task, wanted func(*task) bool) *task {
	if i := slices.IndexFunc(ts, wanted); i >= 0 {
		return ts[i]
	}
	return nil
}

func (h *host) give(ps []frontier.Fingerprint) {
	for _, p := range ps {
		t := h.find(p)
		t.leased = true
		h.lease.tasks = append(h.lease.tasks, t)
	}
}

// takeOut takes the task with that print from l and returns it, or nil.
func (l *lease) takeOut(p frontier.Fingerprint) *task {
	t := first(l.tasks, func(t *task) bool { return t.Print == p })
	if t != nil {
		t.leased = false
		l.tasks = slices.DeleteFunc(l.tasks, func(x *task) bool { return x == t })
	}
	return t
}

func (h *host) claimable() bool {
	return h.update.Condition != frontier.Retired && h.update.Condition != frontier.Refused
}

// from returns the earliest time for a turn with h, with or without tasks; ok is false when h gets none.
func (h *host) from() (at time.Time, ok bool) {
	if !h.claimable() || h.hold.act == frontier.Drop || h.hold.act == frontier.Park && h.hold.until.IsZero() {
		return time.Time{}, false
	}
	if h.hold.until.After(h.notBefore) {
		return h.hold.until, true
	}
	return h.notBefore, true
}

// due returns when h has a task to give; ok is false when it has none, or gets no turn.
func (h *host) due() (at time.Time, ok bool) {
	from, ok := h.from()
	if !ok {
		return time.Time{}, false
	}
	ok = false
	for _, t := range h.pending {
		if t.leased {
			continue
		}
		if !t.deferred {
			return from, true
		}
		if !ok || t.due.Before(at) {
			at, ok = t.due, true
		}
	}
	if at.Before(from) {
		at = from
	}
	return at, ok
}

// ready returns the tasks that h could give now, in the order of Options.Order with those tried before at the end:
// innocent ones, and suspects.
func (s *state) ready(h *host, now time.Time) (innocent, suspects []*task) {
	for _, t := range h.pending {
		switch {
		case t.leased || t.deferred && t.due.After(now):
		case t.Stops > 0:
			suspects = append(suspects, t)
		default:
			innocent = append(innocent, t)
		}
	}
	if s.options.Order == frontier.DepthFirst {
		slices.Reverse(innocent)
		slices.Reverse(suspects)
	}
	slices.SortStableFunc(innocent, func(a, b *task) int { return cmp.Compare(min(a.Attempts, 1), min(b.Attempts, 1)) })
	return innocent, suspects
}

// room reports whether the leases that are out leave room for a turn of a task with that many stops: only one suspect
// may be out, and one of two stops only without other turns.
func (s *state) room(stops int) bool {
	return !slices.ContainsFunc(s.order, func(h *host) bool {
		return h.lease != nil && (h.lease.stops > 1 || stops > 1 || stops > 0 && h.lease.stops > 0)
	})
}

// free reports whether h has a ready task, and the leases that are out leave room for it.
func (s *state) free(h *host, now time.Time) bool {
	innocent, suspects := s.ready(h, now)
	stops := 0
	if len(innocent) == 0 {
		for _, t := range suspects {
			stops = max(stops, t.Stops)
		}
	}
	return h.lease == nil && len(innocent)+len(suspects) > 0 && s.room(stops)
}

// candidates returns the hosts that can be leased now.
func (s *state) candidates(now time.Time) (hosts []*host) {
	for _, h := range s.order {
		if at, ok := h.due(); ok && !at.After(now) && s.free(h, now) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}
