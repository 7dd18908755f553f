package model

import (
	"slices"
	"time"

	"curtsy/frontier"
)

// record is what was in flight at some time, as an engine that committed then would have recorded it.
type record struct {
	at     time.Time
	events int  // in the journal, then
	due    bool // the engine owes a commit within GroupDelay
	sure   bool // it is durable
	flight []suspicion
	leases int
}

// leases notes what is in flight, after a change.
func (f *Follower) leases(due, sure bool) {
	f.records = append(f.records, record{
		at: time.Now(), events: len(f.journal), due: due, sure: sure, flight: f.dealer.flight(), leases: len(f.dealer.leases),
	})
}

// beside fails if a turn is given that the leases that are out leave no room for.
func (f *Follower) beside(t frontier.Turn) {
	f.Helper()
	if f.dealer.alone() {
		f.Fatalf("%s is leased while a suspect of two stops is out", t.Authority)
	}
	if len(t.Tasks) == 0 || t.Tasks[0].Stops == 0 {
		return
	}
	if n := len(f.dealer.leases); t.Tasks[0].Stops > 1 && n > 0 {
		f.Fatalf("%s, a suspect of %d stops, is given while %d leases are out", t.Tasks[0].URL, t.Tasks[0].Stops, n)
	}
	for a, l := range f.dealer.leases {
		if slices.ContainsFunc(l.tasks, func(t *task) bool { return t.Stops > 0 }) {
			f.Fatalf("%s, a suspect, is given while one of %s is out", t.Tasks[0].URL, a)
		}
	}
}

// Suspected fails unless the engine counts as many suspects as there may be.
func (f *Follower) Suspected(n int64) {
	f.Helper()
	if sure, most := f.dealer.suspects(); n < sure || n > most {
		f.Fatalf("Stats.Suspects is %d, want %d to %d", n, sure, most)
	}
}

// Closed follows a clean stop and the opening after it.
func (f *Follower) Closed() {
	for a := range f.dealer.leases {
		f.dealer.takeBack(a)
	}
	clear(f.prints)
	f.opening(opened{})
}

// Crashed follows a crash and the opening after it. The engine must have come back as it was at some instant between
// the last commit that it owed and the crash; seen tells which.
func (f *Follower) Crashed(at time.Time, seen Picture) {
	f.Helper()
	clear(f.prints)
	all, records, kept := f.journal, f.records, f.durable
	for kept < len(all) && all[kept].at.Before(at.Add(-frontier.GroupDelay)) {
		kept++
	}
	for n := len(all); n >= kept; n-- {
		flight := suspicions(possible(records, all[:n], at))
		for _, condemned := range f.doubtful(all[:n], flight) {
			f.journal = slices.Clone(all[:n])
			f.dealer = newDealer(fold(f.journal))
			f.opening(opened{unclean: true, flight: flight, condemned: condemned})
			if f.Picture().Diff(seen) == "" {
				return
			}
		}
	}
	f.Fatalf("after a crash the engine is in none of the states it was in from its last commit on; that of the commit, %d "+
		"events before the crash, then the engine:%s", len(all)-kept, f.Picture().Diff(seen))
}

// possible returns those records of which one was the last to be committed, with a journal or before some of its end:
// an event that changes nothing need not have been committed.
func possible(records []record, journal []event, at time.Time) []record {
	applied := len(journal)
	for applied > 0 && journal[applied-1].result == nil && journal[applied-1].opened == nil {
		applied--
	}
	first := 0
	for i, r := range records {
		owed := r.due && r.at.Before(at.Add(-frontier.GroupDelay))
		if r.sure || owed || r.events < applied || r.events == applied && records[max(i-1, 0)].events < applied {
			first = i
		}
	}
	return records[first:]
}

// suspicions returns what was in flight according to one of records.
func suspicions(records []record) []suspicion {
	var all []suspicion
	in := func(r record, x suspicion) int {
		return slices.IndexFunc(r.flight, func(y suspicion) bool { return y.authority == x.authority && y.print == x.print })
	}
	for _, r := range records {
		for _, x := range r.flight {
			if slices.ContainsFunc(all, func(y suspicion) bool { return y.authority == x.authority && y.print == x.print }) {
				continue
			}
			x.added = nil
			for _, q := range records {
				i := in(q, x)
				if i < 0 {
					x.added = append(x.added, absent)
					continue
				}
				x.added = append(x.added, q.flight[i].added...)
				if q.leases > 1 { // the others have no task: an engine may count them, or not
					x.added = append(x.added, together)
				}
			}
			all = append(all, x)
		}
	}
	return all
}

// doubtful returns what the engine may have put in quarantine, although it need not: one of these or, with zero, none.
func (f *Follower) doubtful(journal []event, flight []suspicion) []frontier.Fingerprint {
	choices := []frontier.Fingerprint{0}
	s := fold(journal)
	for _, x := range flight {
		h := s.hosts[x.authority]
		if h == nil {
			continue
		}
		if t := h.find(x.print); t != nil && slices.ContainsFunc(t.after(x.added), count.guilty) {
			choices = append(choices, x.print)
		}
	}
	return choices
}
