package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// steered is the event of a Steer.
type steered struct {
	frontier.Steering
	leased bool                          // the host, at that time
	tasks  map[frontier.Fingerprint]bool // those under its lease
}

// steering makes an event of a Steer.
func (d *dealer) steering(now time.Time, c frontier.Steering) event {
	c.URLs = slices.Clone(c.URLs)
	e := &steered{Steering: c, tasks: map[frontier.Fingerprint]bool{}}
	if l := d.leases[c.Authority]; l != nil {
		e.leased = true
		for _, t := range l.tasks {
			e.tasks[t.Print] = true
		}
	}
	return event{at: now, steered: e}
}

// obeyed returns what apply, a Steer, has done.
func (d *dealer) obeyed(now time.Time, c frontier.Steering, apply func()) frontier.Steered {
	look := func() (k hold, open bool, due time.Time, dropped int64) {
		h := d.hosts[c.Authority]
		if h == nil {
			return hold{}, true, d.restartFloor(c.Authority), 0
		}
		return h.hold.at(now), h.claimable(), h.notBefore, h.outcomes[frontier.Dropped]
	}
	k, open, due, dropped := look()
	apply()
	kNow, openNow, dueNow, droppedNow := look()
	longer := dueNow.After(due) && dueNow.After(now)
	return frontier.Steered{Changed: k != kNow || open != openNow || longer, URLs: droppedNow - dropped}
}

// steer obeys a command.
func (s *state) steer(now time.Time, e *steered) {
	known := s.hosts[e.Authority]
	switch {
	case len(e.URLs) > 0 && known != nil:
		for _, u := range e.URLs {
			if t := known.find(frontier.Print(secret, u)); t != nil && s.drop(known, t, e) {
				s.operated = append(s.operated, operated{url: t.first})
			}
		}
	case len(e.URLs) > 0:
	case e.Act == frontier.Drop:
		h := s.host(now, e.Authority)
		h.hold = hold{act: frontier.Drop, reason: e.Reason}
		n := int64(0)
		for _, t := range slices.Clone(h.pending) {
			if s.drop(h, t, e) {
				n++
			}
		}
		if n > 0 {
			s.operated = append(s.operated, operated{host: e.Authority, n: n})
		}
	case e.Act == frontier.Park:
		h := s.host(now, e.Authority)
		h.hold = hold{act: frontier.Park, reason: e.Reason}
		if e.For > 0 {
			h.hold.until = now.Add(e.For)
		}
	case e.Act == frontier.Rest:
		s.host(now, e.Authority).wait(now, e.For)
	case known != nil:
		known.hold = hold{}
		if !e.leased && !known.claimable() {
			known.update.Condition, known.update.Reason = frontier.Open, ""
		}
	}
}

// drop closes t, now or when its lease ends, and reports whether it is now.
func (s *state) drop(h *host, t *task, e *steered) bool {
	if e.tasks[t.Print] {
		t.drop = true
		return false
	}
	s.end(h, t, frontier.Dropped, frontier.ReasonOperator)
	return true
}

// sweep closes what was to be dropped when the lease of h ended, which it has.
func (s *state) sweep(h *host) {
	if h == nil { // known in the run that was killed, by a lease of its own, and not since
		return
	}
	for _, t := range slices.Clone(h.pending) {
		if t.drop {
			s.end(h, t, frontier.Dropped, frontier.ReasonOperator)
		}
	}
}

// operated is a URL that was closed for an operator, or so many of a host.
type operated struct {
	url  frontier.Candidate
	host canon.Authority
	n    int64
}

// droppedBy is what Options.Tell is called with.
func droppedBy(all []operated) frontier.Closings {
	d := frontier.Closings{Hosts: map[canon.Authority]int64{}}
	for _, o := range all {
		if o.n > 0 {
			d.Hosts[o.host] += o.n
		} else {
			d.URLs = append(d.URLs, o.url)
		}
	}
	return d
}

// lapse is sweep where no answer to a call can name what is closed.
func (s *state) lapse(h *host) {
	if h == nil {
		return
	}
	for _, t := range h.pending {
		if t.drop {
			s.operated = append(s.operated, operated{url: t.first})
		}
	}
	s.sweep(h)
}

// Steer implements frontier.Frontier.
func (m *Model) Steer(ctx context.Context, c frontier.Steering) (n frontier.Steered, err error) {
	if err := c.Check(); err != nil {
		return n, fmt.Errorf("frontier/model: steer: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return n, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return n, err
	}
	now := time.Now()
	m.expire(now)
	n = m.dealer.obeyed(now, c, func() { m.record(m.dealer.steering(now, c)) })
	return n, m.sync(ctx)
}

// Survey implements frontier.Frontier.
func (m *Model) Survey(ctx context.Context, n int) (v frontier.Survey, err error) {
	err = m.read(ctx, func(now time.Time) { v = m.dealer.survey(now, n) })
	return v, err
}

// survey returns what stands out.
func (d *dealer) survey(now time.Time, n int) frontier.Survey {
	v := frontier.Survey{Why: map[frontier.Condition]map[string]int64{}, Holds: map[frontier.Act]int64{}}
	for _, h := range d.order {
		x := d.view(h, now)
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
