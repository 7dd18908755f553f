package model

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// secret keys the fingerprints of the model. It is a constant, so that two models given the same calls agree.
var secret = []byte("frontier/model: a secret for tests")

// state is what a frontier knows. It depends on the steps that were taken and on nothing else.
type state struct {
	options  frontier.Options // of the latest opening
	openings int64
	unclean  bool      // the stop before the latest opening was no Close
	known    int64     // hosts at the latest opening
	results  int64     // applied since
	opened   time.Time // at the latest opening
	floor    time.Time // no host is due before, unless its own RestartPace is over: see restartFloor

	hosts    map[canon.Authority]*host
	order    []*host         // in the order in which they became known
	seen     map[string]bool // by key
	accepted int64           // of those, the ones that became tasks
	claims   uint64

	seeds       []frontier.Seed
	blobs       map[[sha256.Size]byte][]byte
	ended       map[ending]int64     // URLs, refused candidates among them
	capped      map[string]int64     // links, by reason
	counts      map[string]int64     // of results
	quarantined []frontier.Candidate // by the latest opening
	operated    []operated           // all that was closed for an operator and no Finished named, ever
}

// ending is how a URL ended.
type ending struct {
	outcome frontier.Outcome
	reason  string
}

// operated is a URL that was closed for an operator, or so many of a host.
type operated struct {
	url  frontier.Candidate
	host canon.Authority
	n    int64
}

// journal is the steps that were taken, and the state that they lead to.
type journal struct {
	*state
	steps []step
}

// step is one thing that happened.
type step struct {
	at       time.Time
	recorded recorded
	take     func(s *state)
}

// recorded says what an engine records of the leases that are out after a step.
type recorded int

const (
	perhaps recorded = iota // nothing needs to be recorded
	soon                    // within GroupDelay
	always                  // when the step is durable
)

// do takes a step.
func do[T any](j *journal, r recorded, take func(s *state, now time.Time) T) T {
	now := time.Now()
	j.steps = append(j.steps, step{at: now, recorded: r, take: func(s *state) { take(s, now) }})
	return take(j.state, now)
}

// expired takes back the leases whose time is over, as a step, and reports whether there were any.
func (j *journal) expired(now time.Time) bool {
	over := func(h *host) bool { return h.lease != nil && !h.lease.expires.After(now) }
	return slices.ContainsFunc(j.order, over) && do(j, perhaps, func(s *state, _ time.Time) bool {
		for _, h := range s.order {
			if over(h) {
				s.counts[frontier.ReasonExpired]++
				s.takeBack(h)
			}
		}
		return true
	})
}

// fold returns the state that steps lead to.
func fold(steps []step) *state {
	s := &state{
		hosts: map[canon.Authority]*host{}, seen: map[string]bool{}, blobs: map[[sha256.Size]byte][]byte{},
		ended: map[ending]int64{}, capped: map[string]int64{}, counts: map[string]int64{},
	}
	for _, x := range steps {
		x.take(s)
	}
	return s
}

// open begins a run: no lease is out, retired hosts take part again, and no host is asked before its stored time or its
// pace. After an unclean stop the floor holds for every authority, also for one that is not known yet: it may have been
// discovered and asked just before the stop, and both have been lost.
func (s *state) open(now time.Time, o frontier.Options, unclean bool, flight []suspicion) {
	s.options, s.unclean, s.opened = o, unclean, now
	s.openings++
	s.quarantined, s.known, s.results = nil, int64(len(s.order)), 0
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
			s.quarantined = append(s.quarantined, t.first)
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

// restartFloor is when a may be asked after an unclean stop. What is left of the floor at a clean stop holds on.
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
		h = s.newHost(now, a)
		s.hosts[a] = h
		s.order = append(s.order, h)
	}
	return h
}

func (s *state) newHost(now time.Time, a canon.Authority) *host {
	h := &host{authority: a, domain: a.RegistrableDomain(), notBefore: now}
	h.wait(s.restartFloor(a), 0)
	return h
}

// add enters candidates, the seeds of them also in the list of seeds.
func (s *state) add(now time.Time, cs []frontier.Candidate) frontier.Added {
	for _, c := range cs {
		if c.Kind == frontier.KindSeed {
			s.seeds = append(s.seeds, frontier.Seed{URL: c.URL, Tag: c.Tag})
		}
	}
	return s.accept(now, cs)
}

// accept enters the candidates that are new, in order.
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

// over returns the reason of the first cap that leaves no room for a URL of a, or nothing.
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
	case o.MaxSize > 0 && s.size()+octets > o.MaxSize:
		return frontier.ReasonCapSize
	case o.MaxURLs > 0 && s.accepted >= o.MaxURLs:
		return frontier.ReasonCapCrawl
	case o.MaxURLsPerDomain > 0 && ofDomain >= o.MaxURLsPerDomain:
		return frontier.ReasonCapDomain
	case o.MaxURLsPerAuthority > 0 && ofHost >= o.MaxURLsPerAuthority:
		return frontier.ReasonCapHost
	}
	return ""
}

// octets is what the model counts for a URL, as a file with its text and endings would. Nothing else counts.
const octets = 1 << 10

// size returns the octets that are kept.
func (s *state) size() int64 { return octets * int64(len(s.seen)) }

// full reports whether Options.MaxSize is reached except for a reserve of an eighth.
func (s *state) full() bool {
	most := s.options.MaxSize
	return most > 0 && s.size() >= most-most/8
}

// count adds n URLs that ended.
func (s *state) count(h *host, e ending, n int64) {
	h.outcomes[e.outcome] += n
	s.ended[e] += n
}

// end closes a task.
func (s *state) end(h *host, t *task, o frontier.Outcome, reason string) {
	h.pending = slices.DeleteFunc(h.pending, func(x *task) bool { return x == t })
	t.ending = ending{o, reason}
	h.closed = append(h.closed, t)
	s.count(h, t.ending, 1)
}

// grant leases the host of a.
func (s *state) grant(now time.Time, a canon.Authority, token frontier.Token, ps []frontier.Fingerprint) {
	h := s.host(now, a)
	s.claims++
	h.served = s.claims
	h.lease = &lease{token: token, expires: now.Add(s.length()), width: max(h.update.Width, 1)}
	h.give(ps)
	if len(ps) == 1 {
		h.lease.stops = h.lease.tasks[0].Stops
	}
}

// length is how long a turn may last.
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
			s.operated = append(s.operated, operated{url: t.first})
			s.end(h, t, frontier.Dropped, frontier.ReasonOperator)
		}
	}
	h.lease = nil
}

// settle applies a result whose token has been checked. What it says of tasks that are not under its lease is ignored:
// they were settled by an earlier Finish of the same turn, or belong to nobody here.
func (s *state) settle(now time.Time, r frontier.Result) (f frontier.Finished) {
	h := s.hosts[r.Authority]
	s.results++
	for _, d := range r.Done {
		if t := h.lease.settled(d.Print); t != nil {
			s.end(h, t, d.Outcome, d.Reason)
		}
	}
	drop := func(t *task) {
		f.Dropped = append(f.Dropped, t.Print)
		s.end(h, t, frontier.Dropped, frontier.ReasonOperator)
	}
	for _, d := range r.Deferred {
		switch t := h.lease.settled(d.Print); {
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
	for _, b := range r.Blobs {
		s.blobs[sha256.Sum256(b)] = b
	}
	for name, n := range r.Counts {
		s.counts[name] += n
	}
	f.Added = s.accept(now, r.Found)
	return f
}

// retry opens URLs, at their old places, and hosts.
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

// steer obeys a command.
func (s *state) steer(now time.Time, c frontier.Steering) frontier.Steered {
	if s.hosts[c.Authority] == nil && (len(c.URLs) > 0 || c.Act == frontier.Resume) {
		return frontier.Steered{}
	}
	h := s.host(now, c.Authority)
	before := *h
	drop := func(t *task) bool { // now, or when its lease ends
		if t.drop = t.leased; !t.leased {
			s.end(h, t, frontier.Dropped, frontier.ReasonOperator)
		}
		return !t.leased
	}
	switch {
	case len(c.URLs) > 0:
		for _, u := range c.URLs {
			if t := h.named(u); t != nil && drop(t) {
				s.operated = append(s.operated, operated{url: t.first})
			}
		}
	case c.Act == frontier.Drop:
		h.hold = hold{act: frontier.Drop, reason: c.Reason}
		for _, t := range slices.Clone(h.pending) {
			drop(t)
		}
		if n := h.outcomes[frontier.Dropped] - before.outcomes[frontier.Dropped]; n > 0 {
			s.operated = append(s.operated, operated{host: c.Authority, n: n})
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

// suspicion says that a task was in flight at an unclean stop.
type suspicion struct {
	authority canon.Authority
	print     frontier.Fingerprint
	alone     int // 1 when nothing else was
}

// flight returns what is in flight, as it is to be recorded: of each lease the first tasks that are not settled, as
// many as it has Width.
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

// careful reports whether the last stop was unclean and too few results have been applied since to forget it.
func (s *state) careful() bool {
	return s.unclean && s.results < s.known+frontier.GroupPages
}

// summary returns the state of the frontier as a whole, and when something will be due.
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
	case s.full():
		return frontier.Full, 0
	case leased || due == 0:
		return frontier.Busy, 0
	}
	return frontier.Waiting, due
}

// SumOf returns the totals that are sums over the hosts.
func SumOf(hosts []frontier.Host) (st frontier.Stats) {
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

// stats returns the totals.
func (s *state) stats(now time.Time) frontier.Stats {
	st := SumOf(s.views(now))
	st.Capped, st.Counts, st.Size, st.Unclean, st.Restarts = maps.Clone(s.capped), maps.Clone(s.counts), s.size(), s.unclean, s.openings-1
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

// view returns h as readers see it. Nothing in it is shared with the state.
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

// entry returns the URL of h that became a task, with its state.
func (h *host) entry(u canon.URL, now time.Time) (e frontier.Entry, ok bool) {
	t := h.named(u)
	if t == nil {
		t = first(h.closed, func(t *task) bool { return t.first.URL.Key() == u.Key() })
	}
	if t == nil {
		return e, false
	}
	e = frontier.Entry{Candidate: t.first, Print: t.Print, Outcome: t.outcome, Reason: t.reason}
	switch {
	case t.outcome != 0:
		return e, true
	case t.drop:
		e.Outcome, e.Reason = frontier.Dropped, frontier.ReasonOperator
		return e, true
	}
	e.Reason, e.Attempts, e.Deferred, e.Stops, e.Alone = t.Task.Reason, t.Attempts, t.deferred, t.Stops, t.alone
	if t.deferred {
		e.Wait = max(t.due.Sub(now), 0)
	}
	if t.Replaced {
		e.Replaced = t.URL
	}
	return e, true
}

// survey returns what stands out.
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

// Picture is what can be seen of a frontier without changing it: facts by name. What the contract leaves open is
// left out: whether a deferred task that is due counts as Queued or Deferred, the Wait of a host that has nothing
// queued, the Reason of an Open host, and how many leases expired.
type Picture map[string]string

// Take makes a picture.
func Take(st frontier.Stats, hosts []frontier.Host, seeds []frontier.Seed) Picture {
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

// add adds the fields of a struct.
func (p Picture) add(name string, of any) {
	for f, v := range reflect.ValueOf(of).Fields() {
		p[name+f.Name] = fmt.Sprintf("%+v", v)
	}
}

// Diff returns the facts that differ, one a line, or nothing.
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
