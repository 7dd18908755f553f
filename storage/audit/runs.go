package audit

import "time"

// atCrash is how much of what lies before the last trace of a killed run may stand in the archive or in the ledger
// alone: each is written through buffers of its own, which are synced together at every commit of the frontier.
const atCrash = 30 * time.Second

// atStart is the same for a run of which the ledger knows nothing: the first commit of the frontier syncs it.
const atStart = 5 * time.Second

// lostAfter is how long behind the last trace a kill may have come, and with it the requests that left none: as long as
// the longest pause of a host that is waited for by default (docs/politeness.md, rule 7).
const lostAfter = 5 * time.Minute

// maxCrashes bounds the ends of runs that are kept. Nothing is excused by what goes beyond.
const maxCrashes = 1000

// runs follows the runs of a crawl by the marks of its ledger.
type runs struct {
	count   int64
	crashed int64 // runs that did not end in good order, as the marks tell
	ends    []runEnd

	open bool
	last time.Time // the last trace so far

	lined map[string]bool // files of the archive that have a record with a line
}

// runEnd is the time from the last trace of a run, in the ledger, to the beginning of the next. What stands in the
// archive from then is of a run that was killed: of this one if it did not end in good order, or of one that was killed
// before the ledger held even the mark of its beginning.
type runEnd struct {
	killed bool      // it did not end in good order
	last   time.Time // its last trace; zero before the first run
	next   time.Time // when the next run began; zero if none did

	// traces are the last of the records without a line, by file of the archive: a run begins a file of its own.
	traces map[string]time.Time

	// pairs are the latest starts of exchanges in that time that both have, by authority. Archive and ledger are appended
	// to, and an authority's exchanges come one after the other: what is missing of it before cannot be lost by a kill.
	pairs map[string]time.Time
}

// begin takes the mark of a run's beginning.
func (r *runs) begin(t time.Time) {
	r.ended(t)
	r.count++
	r.open, r.last = true, t
}

// trace takes the time of a line or a head.
func (r *runs) trace(t time.Time) {
	if t.After(r.last) {
		r.last = t
	}
}

// end takes the head of a run that ended in good order.
func (r *runs) end() { r.open = false }

// close takes the end of the ledger.
func (r *runs) close() { r.ended(time.Time{}) }

func (r *runs) ended(next time.Time) {
	if r.open {
		r.crashed++
	}
	if len(r.ends) < maxCrashes {
		r.ends = append(r.ends, runEnd{killed: r.open, last: r.last, next: next, traces: map[string]time.Time{}, pairs: map[string]time.Time{}})
	}
	r.open = false
}

// holds reports whether t lies between the last trace and the next run.
func (e *runEnd) holds(t time.Time) bool {
	return !t.Before(e.last) && (e.next.IsZero() || t.Before(e.next))
}

// recorded takes the end of what stands in the archive alone, in a file of it. What has its line says nothing new.
func (r *runs) recorded(t time.Time, file string) {
	for i := range r.ends {
		if e := &r.ends[i]; e.holds(t) && t.After(e.traces[file]) {
			e.traces[file] = t
		}
	}
}

// paired takes an exchange that both have.
func (r *runs) paired(line *account) {
	t := fromMicro(line.began)
	for i := range r.ends {
		e := &r.ends[i]
		if !e.killed || t.Before(e.last.Add(-atCrash)) || t.After(e.last) {
			continue
		}
		if name := authorityOf(line.fields[0]); t.After(e.pairs[name]) {
			e.pairs[name] = t
		}
	}
}

// passed reports whether a later exchange of a's authority, before the same kill, stands in archive and ledger.
func (r *runs) passed(a *account) bool {
	if a.refusal || a.own { // refusals are written in batches; own hosts may have several exchanges at once
		return false
	}
	for i := range r.ends {
		e := &r.ends[i]
		if t, ok := e.pairs[authorityOf(a.fields[0])]; ok && e.killed && !a.traced().After(t) && !a.traced().Before(e.last.Add(-atCrash)) {
			return true
		}
	}
	return false
}

// near reports whether what was told at t, in the archive's file or, if that is empty, in the ledger, lies within the time
// before a kill of which traces may be lost.
func (r *runs) near(t time.Time, file string) bool {
	for i := range r.ends {
		e := &r.ends[i]
		if e.killed && !t.Before(e.last.Add(-atCrash)) && !t.After(e.last) {
			return true
		}
		before := atCrash
		if !r.lined[file] {
			before = atStart
		}
		if last, ok := e.traces[file]; ok && e.holds(t) && !t.Before(last.Add(-before)) && r.mayBe(e, file) {
			return true
		}
	}
	return false
}

// mayBe reports whether a file can be of a run that was killed at e. What a run wrote of which the ledger knows nothing
// has no line at all.
func (r *runs) mayBe(e *runEnd, file string) bool { return e.killed || !r.lined[file] }

// around reports whether a request of time t may have left no trace because a run was killed.
func (r *runs) around(t time.Time) bool {
	for i := range r.ends {
		e := &r.ends[i]
		if e.killed && !t.Before(e.last.Add(-atCrash)) && !t.After(e.last.Add(lostAfter)) && (e.next.IsZero() || !t.After(e.next)) {
			return true
		}
		for file, last := range e.traces {
			if r.mayBe(e, file) && !t.Before(last.Add(-atCrash)) && !t.After(last.Add(lostAfter)) && (e.next.IsZero() || !t.After(e.next)) {
				return true
			}
		}
	}
	return false
}
