package audit

import (
	"slices"
	"time"
)

// atCrash is how much of what lies before the last trace of a killed run may stand in the archive or in the ledger
// alone: each is written through buffers of its own, which are synced together at every commit of the frontier.
const atCrash = 30 * time.Second

// atStart is the same for a run of which the ledger knows nothing: the first commit of the frontier syncs it.
const atStart = 5 * time.Second

// lostAfter is how long behind the last trace a kill may have come, and with it the requests that left none: as long as
// the longest pause of a host that is waited for by default (docs/politeness.md, rule 7).
const lostAfter = 5 * time.Minute

// maxKnown bounds the runs that are kept. Nothing is excused by what goes beyond.
const maxKnown = 1000

// runs follows the runs of a crawl by the marks of its ledger. What a kill tears off belongs to the run that was killed:
// two kills may lie within seconds, and a clock may be set between them, so times alone do not tell one run from another.
// A line is of the run whose mark stands before it in the ledger, a record of the one whose lines tell of its file, for a
// run begins a file of its own.
type runs struct {
	count   int64
	crashed int64     // runs that did not end in good order, as the marks tell
	all     []runTold // the first is what stands before the first mark
	open    bool

	files  []string // of the archive, in its order
	kills  kills
	ran    map[string]int       // as of, by exchanges alone: two runs may tell a refusal alike
	of     map[string]int       // those that have a record with a line, and the run of that line
	traces map[string]time.Time // the last of the records without a line, by file
}

// runTold is one run, as marks and lines tell.
type runTold struct {
	killed      bool      // it did not end in good order
	begun, last time.Time // its mark, and its last trace in the ledger; zero before the first mark
	first, told time.Time // its first and its last line

	// pairs are the latest starts of exchanges in the time that a kill may tear off that both have, by authority. Archive
	// and ledger are appended to, and an authority's exchanges come one after the other: what is missing of it before
	// cannot be lost by that kill.
	pairs map[string]time.Time
}

func newRuns() runs {
	return runs{all: []runTold{{}}, of: map[string]int{}, ran: map[string]int{}, traces: map[string]time.Time{}}
}

// begin takes the mark of a run's beginning.
func (r *runs) begin(t time.Time) {
	r.close()
	r.count++
	r.open = true
	if len(r.all) < maxKnown {
		r.all = append(r.all, runTold{begun: t, last: t})
	}
}

// now is the run of what stands in the ledger next.
func (r *runs) now() int { return int(r.count) }

// known returns the run of that number, or nil.
func (r *runs) known(n int) *runTold {
	if n < 0 || n >= len(r.all) {
		return nil
	}
	return &r.all[n]
}

// line takes the time of a line.
func (r *runs) line(t time.Time) {
	if x := r.known(r.now()); x != nil {
		if x.told = later(x.told, t); x.first.IsZero() {
			x.first = t
		}
	}
	r.trace(t)
}

// trace takes the time of a line or a head.
func (r *runs) trace(t time.Time) {
	if x := r.known(r.now()); x != nil {
		x.last = later(x.last, t)
	}
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
}

// end takes the head of a run that ended in good order.
func (r *runs) end() { r.open = false }

// close takes the end of a run's part of the ledger.
func (r *runs) close() {
	if !r.open {
		return
	}
	r.crashed++
	r.open = false
	if x := r.known(r.now()); x != nil {
		x.killed = true
	}
}

// torn reports whether a kill of x may have torn off what was told at t.
func (x *runTold) torn(t time.Time) bool {
	return x != nil && x.killed && !t.Before(x.last.Add(-atCrash)) && !t.After(x.last)
}

// recorded takes the end of what stands in the archive alone, in a file of it.
func (r *runs) recorded(t time.Time, file, url string) {
	r.kills.add(file, url)
	r.traces[file] = later(r.traces[file], t)
}

// paired takes an exchange that both have.
func (r *runs) paired(line *account, file string) {
	r.of[file] = line.run
	if !line.refusal {
		r.ran[file] = line.run
	}
	x, t := r.known(line.run), fromMicro(line.began)
	if !x.torn(t) {
		return
	}
	if x.pairs == nil {
		x.pairs = map[string]time.Time{}
	}
	if name := authorityOf(line.fields[0]); t.After(x.pairs[name]) {
		x.pairs[name] = t
	}
}

// inFlight reports whether a, which stands in archive or ledger alone, may have been torn off the other by a kill of its run.
func (r *runs) inFlight(a *account) bool {
	t := a.traced()
	if a.line {
		x := r.known(a.run)
		return x.torn(t) && !x.passed(a)
	}
	file := a.at().File
	n, lined := r.of[file]
	if !lined {
		return r.unknown(t, file) && !t.Before(r.traces[file].Add(-atStart))
	}
	x := r.known(n)
	return x != nil && x.killed && (x.torn(t) || !t.Before(r.traces[file].Add(-atCrash))) && !x.passed(a)
}

// passed reports whether a later exchange of a's authority, before the same kill, stands in archive and ledger.
func (x *runTold) passed(a *account) bool {
	if a.refusal || a.own { // refusals are written in batches; own hosts may have several exchanges at once
		return false
	}
	t, ok := x.pairs[authorityOf(a.fields[0])]
	return ok && !a.traced().After(t)
}

// unknown reports whether a run that was killed before the ledger held even the mark of its beginning can have written at t
// what stands in a file without a line. Not so when a run that ended in good order was at work then: one between those of
// the files before and behind, behind the last line of the one before, or before the first of the one behind.
func (r *runs) unknown(t time.Time, file string) bool {
	at := max(slices.Index(r.files, file), 0)
	if r.planted(at) {
		return false
	}
	from, to := 0, len(r.all)
	for i, name := range r.files {
		n, lined := r.of[name]
		switch {
		case !lined:
		case i < at:
			from = n
		case to == len(r.all):
			to = n
		}
	}
	for i := from; i < min(to+1, len(r.all)); i++ {
		x := &r.all[i]
		if x.killed || t.Before(x.begun) || !t.Before(x.last) {
			continue
		}
		if (i != from || at == 0 || !t.Before(x.told)) && (i != to || !t.After(x.first)) {
			return false
		}
	}
	return true
}

// met notes a file of the archive.
func (r *runs) met(file string) {
	if n := len(r.files); n == 0 || r.files[n-1] != file {
		r.files = append(r.files, file)
	}
}

// around reports whether a request that was sent at some instant from one to the other may have left no trace because a run
// was killed.
func (r *runs) around(from, to time.Time) bool {
	lost := func(begun, last time.Time) bool {
		return !to.Before(begun) && !to.Before(last.Add(-atCrash)) && !from.After(last.Add(lostAfter)) && !from.After(r.next(last))
	}
	for i := range r.all {
		if x := &r.all[i]; x.killed && lost(x.begun, x.last) {
			return true
		}
	}
	for file, last := range r.traces {
		n, lined := r.of[file]
		if x := r.known(n); (!lined && r.unknown(last, file) || lined && x != nil && x.killed) && lost(time.Time{}, last) {
			return true
		}
	}
	return false
}

// next returns when the first run after t began, or when none can have.
func (r *runs) next(t time.Time) time.Time {
	next := t.Add(lostAfter)
	for i := range r.all {
		if at := r.all[i].begun; at.After(t) && at.Before(next) {
			next = at
		}
	}
	return next
}
