package model

import (
	"cmp"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// count is at how many unclean stops a task was in flight, and at how many of these nothing else was.
type count struct{ stops, alone int }

// What one unclean stop adds to the count of a task.
var (
	absent   = count{}
	together = count{stops: 1}
	alone    = count{stops: 1, alone: 1}
)

// guilty reports whether a task with this count is to be put in quarantine.
func (c count) guilty() bool { return c.alone >= frontier.QuarantineStops }

// suspicion says that a task was in flight at an unclean stop.
type suspicion struct {
	authority canon.Authority
	print     frontier.Fingerprint
	added     []count // to its count, one of these: the follower may not know which
}

// flight returns what is in flight, as it is to be recorded: of each lease the first tasks that are not settled, as
// many as it has Width.
func (d *dealer) flight() []suspicion {
	var all []suspicion
	for a, l := range d.leases {
		for _, t := range l.tasks[:min(len(l.tasks), l.width)] {
			all = append(all, suspicion{authority: a, print: t.Print, added: []count{together}})
		}
	}
	if len(all) == 1 {
		all[0].added = []count{alone}
	}
	return all
}

// suspect marks what was in flight at an unclean stop and is pending still, and puts in quarantine what has been alone
// too often.
func (s *state) suspect(o opened) {
	for _, x := range o.flight {
		h := s.hosts[x.authority]
		if h == nil {
			continue
		}
		t := h.find(x.print)
		if t == nil {
			continue
		}
		counts := t.after(x.added)
		t.counted(slices.DeleteFunc(slices.Clone(counts), count.guilty))
		if len(t.counts) == 0 || t.Print == o.condemned {
			s.end(h, t, frontier.Failed, frontier.ReasonQuarantined)
			s.quarantined = append(s.quarantined, t.first)
		}
	}
}

// after returns the counts that t may have after a stop that adds one of these.
func (t *task) after(added []count) (counts []count) {
	before := t.counts
	if len(before) == 0 {
		before = []count{{}}
	}
	for _, b := range before {
		for _, a := range added {
			if c := (count{b.stops + a.stops, b.alone + a.alone}); !slices.Contains(counts, c) {
				counts = append(counts, c)
			}
		}
	}
	return counts
}

// counted gives t these counts.
func (t *task) counted(counts []count) {
	t.counts, t.Stops = counts, 0
	for _, c := range counts {
		t.Stops = max(t.Stops, c.stops)
	}
}

// fewest returns the fewest stops that t may have; the most are Stops.
func (t *task) fewest() int {
	n := t.Stops
	for _, c := range t.counts {
		n = min(n, c.stops)
	}
	return n
}

// acquit makes t a suspect no more.
func (t *task) acquit() { t.counted(nil) }

// ready returns the tasks that h could give now, in the order of Options.Order, those tried before behind the others:
// innocent ones, and suspects.
func (d *dealer) ready(h *host, now time.Time) (innocent, suspects []*task) {
	for _, t := range h.pending {
		switch {
		case t.leased || t.deferred && t.due.After(now):
		case t.Stops > 0:
			suspects = append(suspects, t)
		default:
			innocent = append(innocent, t)
		}
	}
	if d.options.Order == frontier.DepthFirst {
		slices.Reverse(innocent)
		slices.Reverse(suspects)
	}
	slices.SortStableFunc(innocent, func(a, b *task) int { return cmp.Compare(min(a.Attempts, 1), min(b.Attempts, 1)) })
	return innocent, suspects
}

// offer returns what a turn with h is given, up to n tasks: a suspect comes last, in a turn of its own.
func (d *dealer) offer(h *host, now time.Time, n int) []*task {
	innocent, suspects := d.ready(h, now)
	if len(innocent) == 0 {
		return suspects[:min(1, len(suspects))]
	}
	return innocent[:min(n, len(innocent))]
}

// more returns what a turn that is extended is given, up to n tasks.
func (d *dealer) more(h *host, now time.Time, n int) []*task {
	if d.leases[h.authority].stops > 0 || d.full() || h.hold.at(now).act != 0 {
		return nil
	}
	innocent, _ := d.ready(h, now)
	return innocent[:min(max(n, 0), len(innocent))]
}

// free reports whether the leases that are out leave h, which has something ready, a turn: a suspect is the only one in
// the frontier, and one of two stops has no other turn beside it.
func (d *dealer) free(h *host, now time.Time) bool {
	if d.leases[h.authority] != nil || d.alone() {
		return false
	}
	innocent, suspects := d.ready(h, now)
	if len(innocent) > 0 {
		return true
	}
	for _, t := range suspects {
		if t.Stops > 1 && len(d.leases) > 0 {
			return false
		}
	}
	for _, l := range d.leases {
		if l.stops > 0 {
			return false
		}
	}
	return len(suspects) > 0
}

// single reports whether h can be leased now with no tasks.
func (d *dealer) single(h *host, now time.Time) bool {
	from, ok := h.from()
	return ok && !from.After(now) && d.leases[h.authority] == nil && !d.full() && !d.alone()
}

// alone reports whether a suspect of two stops is out.
func (d *dealer) alone() bool {
	for _, l := range d.leases {
		if l.stops > 1 {
			return true
		}
	}
	return false
}

// suspects returns how many pending tasks are suspects: at least, and at most.
func (s *state) suspects() (sure, most int64) {
	for _, h := range s.order {
		for _, t := range h.pending {
			if t.Stops > 0 {
				most++
			}
			if t.fewest() > 0 {
				sure++
			}
		}
	}
	return sure, most
}

// pinned is the event that the engine has said at how many stops a task was in flight.
type pinned struct {
	authority canon.Authority
	print     frontier.Fingerprint
	stops     int
}

func (s *state) pin(p *pinned) {
	t := s.hosts[p.authority].find(p.print)
	t.counted(slices.DeleteFunc(t.counts, func(c count) bool { return c.stops != p.stops }))
}
