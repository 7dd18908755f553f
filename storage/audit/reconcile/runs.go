package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
)

const (
	// atCrash is how much before a killed run's last trace may be in archive or ledger only: each is written through its
	// own buffers, which are synced together at every commit of the frontier.
	atCrash = 30 * time.Second
	// atBegin is by how much a run's first date may precede its mark: the clock is read in two places.
	atBegin = 2 * time.Second
	// lostAfter is how long after the last trace a kill may have come: the longest delay waited for by default (rule 7).
	lostAfter = 5 * time.Minute
	// maxKnown bounds the runs kept. Runs beyond excuse nothing.
	maxKnown = 100_000
	// usualAtOnce is the default bound of concurrent exchanges: 64 workers and four times as many slow ones (rule 25).
	usualAtOnce = 5 * 64
)

// runs follows the runs of a crawl by the marks of its ledger. Two kills may be seconds apart and a clock be set
// between them, so times do not separate runs: a line is of the run whose mark precedes it, a record of the run whose
// mark binds its file's warcinfo record. A mark is durable before the first exchange of its run, so each file has one.
type runs struct {
	count   int64
	crashed int64 // runs that did not end cleanly, by the marks
	all     []run // the first has the lines before the first mark
	at      int   // the current one in the ledger; beyond them if there are too many
	open    bool
	idle    bool // a redaction followed: later marks are not traces of the run, which had ended

	bound map[string][]int // the runs whose marks bind a warcinfo record, by its digest
	files map[string]int   // the run of each file of the archive; noRun when no mark binds its warcinfo record
	ends  map[int]string   // the last file of each run
	last  int              // the latest run of the files so far

	reading string // the current file
	past    int    // the latest run of those before it

	moreArchived bool // the archive begins with a file of no run
}

// mayLackMark reports whether a kill may have come between the end of a file, the last of its run, and the mark of it.
func (r *runs) mayLackMark(file string) bool {
	n := r.of(file)
	x := r.known(n)
	if x == nil || !x.killed || r.ends[n] != file || r.last > n {
		return false
	}
	return !slices.ContainsFunc(r.all[n+1:], func(later run) bool { return later.hasLine || !later.killed })
}

const noRun = -1

type run struct {
	killed      bool      // it did not end cleanly
	hasLine     bool      // the ledger has a line of it
	begun, last time.Time // its mark, and its last trace in the ledger; zero before the first mark

	warcinfo string // the digest that its mark binds
	mark     *ledger.Mark
	dated    time.Time // the latest of its lines

	alone       time.Time // the last of its records without a line
	withoutLine int       // how many exchanges these are
	atOnce      int       // its maximum of concurrent exchanges, by its warcinfo record

	// pairs are, by authority, the latest starts that both sides have within the time that a kill may tear off. Both are
	// appended to, so that kill cannot have lost earlier exchanges of the authority.
	pairs map[string]time.Time
}

func newRuns() runs {
	return runs{all: []run{{}}, bound: map[string][]int{}, files: map[string]int{}, ends: map[int]string{}}
}

func (r *runs) begin(m *ledger.Mark) {
	r.close()
	r.count++
	r.open, r.idle = true, false
	same := r.bound[m.Warcinfo]
	if n := len(same); n > 0 && same[n-1] == r.at && r.all[r.at].begun.Equal(m.Time) {
		return // a run killed in the microsecond of its beginning has the same files as the next
	}
	if r.at = len(r.all); r.at == maxKnown {
		return
	}
	if m.Warcinfo != "" {
		r.bound[m.Warcinfo] = append(same, r.at)
	}
	r.all = append(r.all, run{begun: m.Time, last: m.Time, atOnce: usualAtOnce, warcinfo: m.Warcinfo, mark: m})
}

// file takes the warcinfo record of a file, in archive order, and returns its run: of several that share the record, the first
// possible one.
func (r *runs) file(in *evidence.Info) int {
	if in.File != r.reading {
		r.past, r.reading = r.last, in.File
	}
	n := noRun
	for _, of := range r.bound[in.SHA256] {
		if n = of; n >= r.last {
			break
		}
	}
	r.moreArchived = r.moreArchived || n == noRun && len(r.files) == 0
	r.files[in.File], r.ends[n] = n, in.File
	r.last = max(r.last, n)
	if x := r.known(n); x != nil && in.AtOnce > 0 {
		x.atOnce = in.AtOnce
	}
	return n
}

// alike reports whether two runs are one, or have the same warcinfo record, so that their files are indistinguishable.
func (r *runs) alike(n, m int) bool {
	x, y := r.known(n), r.known(m)
	return n == m || x != nil && y != nil && x.warcinfo == y.warcinfo
}

func (r *runs) of(file string) int {
	if n, ok := r.files[file]; ok {
		return n
	}
	return noRun
}

func (r *runs) now() int { return r.at }

// known returns the run of that number, or nil.
func (r *runs) known(n int) *run {
	if n < 0 || n >= len(r.all) {
		return nil
	}
	return &r.all[n]
}

func (r *runs) line(t time.Time) {
	r.trace(t)
	if x := r.known(r.now()); x != nil {
		x.hasLine, x.dated = true, later(x.dated, t)
	}
}

func (r *runs) trace(t time.Time) {
	if x := r.known(r.now()); x != nil && !r.idle {
		x.last = later(x.last, t)
	}
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
}

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

// torn reports whether a kill of x may have torn off a record or line written at t.
func (x *run) torn(t time.Time) bool {
	return x != nil && x.killed && !t.Before(x.last.Add(-atCrash)) && !t.After(x.last)
}

func (r *runs) paired(line *row) {
	x, t := r.known(line.run), fromMicro(line.began)
	if !x.torn(t) {
		return
	}
	if x.pairs == nil {
		x.pairs = map[string]time.Time{}
	}
	if name := evidence.AuthorityOf(line.fields[0]); t.After(x.pairs[name]) {
		x.pairs[name] = t
	}
}

// inFlight reports whether a kill may have torn a, which only one side has, off the other. running says that the crawl continues.
func (r *runs) inFlight(a *row, running bool) bool {
	t := a.traced()
	if a.line {
		x := r.known(a.run)
		return x.torn(t) && !x.passed(a)
	}
	x := r.known(r.of(a.at().File))
	if x == nil || !x.killed || x.passed(a) || fromMicro(a.began).Before(x.begun.Add(-atBegin)) {
		return false
	}
	return (x.torn(t) || !t.Before(x.alone.Add(-atCrash))) && (running || a.refusal || x.withoutLine <= x.most())
}

// most bounds the exchanges that a kill of x leaves without a line: those with lines not durable, and those in flight.
func (x *run) most() int { return ledger.MaxUnsynced + x.atOnce }

// passed reports whether archive and ledger have a later exchange of a's authority, before the same kill.
func (x *run) passed(a *row) bool {
	if a.refusal || a.own { // refusals are written in batches; own hosts may have several exchanges at once
		return false
	}
	t, ok := x.pairs[evidence.AuthorityOf(a.fields[0])]
	return ok && !a.traced().After(t)
}

// around reports whether a request sent between two instants may be lost because a run was killed.
func (r *runs) around(from, to time.Time) bool {
	lost := func(begun, last time.Time) bool {
		return !to.Before(begun) && !to.Before(last.Add(-atCrash)) && !from.After(last.Add(lostAfter)) &&
			!from.After(r.next(last))
	}
	for i := range r.all {
		if x := &r.all[i]; x.killed && (lost(x.begun, x.last) || !x.alone.IsZero() && lost(x.begun, x.alone)) {
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

// Info checks that a run's mark binds each warcinfo record, and that files are in the order of the runs.
func (l *Ledger) Info(_ context.Context, in *evidence.Info, found finding.Report) error {
	before := l.runs.last
	n := l.runs.file(in)
	l.optOuts.info(n, in)
	f := finding.Finding{Code: finding.LedgerDiffers, Place: in.Place, Time: in.Date,
		Required: "a warcinfo record that the mark of a run in the ledger binds, and files in the order of these " +
			"(ledger reference)"}
	switch {
	case l.runs.count >= maxKnown:
		return nil
	case n == noRun:
		f.Observed = "no mark binds this one, of SHA-256 " + in.SHA256
	case n < before:
		f.Observed = fmt.Sprintf("this one is of run %d, after a file of run %d", n, before)
	default:
		l.declared(l.runs.known(n), f, in, found)
		return nil
	}
	found(f)
	return nil
}

// declared compares what the warcinfo record of a run's file declares with the mark of the run. f names the record.
func (l *Ledger) declared(x *run, f finding.Finding, in *evidence.Info, found finding.Report) {
	if x == nil || x.mark == nil || len(in.Fields) >= evidence.MaxInfo {
		return
	}
	declared, key := in.LedgerKey, x.mark.Key
	if declared == "" || key == "" { // there was no key, or the ledger is not signed, which the level shows
		declared, key = "", ""
	}
	for _, c := range [...]struct{ field, says, mark, marked string }{
		{"config-sha256", in.ConfigSHA, "settings_sha256", x.mark.Settings},
		{"opt-out-sha256", listsDigest(listsIn(in)), "optouts_sha256", x.mark.OptOuts},
		{"ledger-key", declared, "key", key},
	} {
		if c.says != c.marked {
			f.Required = fmt.Sprintf("%s as the mark of the run has %s (ledger reference): %q", c.field, c.mark, c.marked)
			f.Observed = fmt.Sprintf("%q", c.says)
			found(f)
		}
	}
}

// listsDigest is the digest of opt-out lists in a mark: the SHA-256 of the only one, or that of the SHA-256s of all.
func listsDigest(lists []string) string {
	if len(lists) == 1 {
		return lists[0]
	}
	var all []byte
	for _, s := range lists {
		sum, err := hex.DecodeString(s)
		if err != nil {
			return s
		}
		all = append(all, sum...)
	}
	if len(all) == 0 {
		return ""
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}

// stop takes the mark that ends a run cleanly: no line of the run is dated after it.
func (l *Ledger) stop(m *ledger.Mark) {
	if x := l.runs.known(l.runs.now()); x != nil && x.dated.After(m.Time) && len(l.odd) < maxProblems {
		l.odd = append(l.odd, finding.Finding{Code: finding.LedgerLines, Place: finding.Place{File: l.o.Dir}, Time: m.Time,
			Required: "a stop that is dated after all lines of its run (ledger reference)",
			Observed: "one of them is dated " + x.dated.UTC().Format(time.RFC3339Nano)})
	}
}

// changed checks a line: in a crawl's first run no URL can have changed, unless the archive is older than the ledger.
func (l *Ledger) changed(d *storage.Line, place string) {
	if l.runs.count > 1 || d.Change == "" || d.Change == storage.ChangeNew || len(l.tooSoon) >= maxProblems {
		return
	}
	l.tooSoon = append(l.tooSoon, finding.Finding{Code: finding.LedgerLines, URL: d.URL, Authority: evidence.AuthorityOf(d.URL), Time: d.Time,
		Place:    finding.Place{File: l.o.Dir},
		Required: "a run before that of a change since the generation before (ledger reference)",
		Observed: fmt.Sprintf("%s says %s, and its run is the first", place, finding.Short(string(d.Change)))})
}

// stepped checks an exchange before which the clock was set back: within a run it never is, so a new run begins.
func (l *Ledger) stepped(e *evidence.Exchange, found finding.Report) {
	if n := l.runs.of(e.File); e.Stepped && n <= l.runs.past {
		of := "of run " + strconv.Itoa(n)
		if n == noRun {
			of = "of no run"
		}
		found(e.Finding(finding.LedgerDiffers,
			"the mark of a run in the ledger for each recorded step back of the clock: within a "+
				"run its dates never go back",
			e.File+" is "+of+" of the ledger, after a file of run "+strconv.Itoa(l.runs.past)))
	}
}

func sizeOf(dir string) (size int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("audit: %w", err)
	}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil { // else it was packed meanwhile
			size += fi.Size()
		}
	}
	return size, nil
}

// raised checks delays of lines by ByOperator against the operator's marks. A mismatch is a fault of the ledger, not impolite.
type raised struct {
	by    hostrule.Rules // the delays in the marks before
	wrong []finding.Finding
}

// maxRaised bounds the marks that are kept, and the findings.
const maxRaised = 1000

func (r *raised) mark(m *ledger.Mark) {
	if o := m.Operator; o != nil && o.Act == ledger.ActDelay && len(r.by) < maxRaised {
		r.by = append(r.by, hostrule.Rule{Match: o.Hosts, Delay: o.Delay})
	}
}

// line takes a line after its marks. The longest delay of several marks counts, since none takes one back.
func (r *raised) line(l *storage.Line, place string) {
	if l.PaceBy != storage.ByOperator || len(r.by) >= maxRaised || len(r.wrong) >= maxRaised {
		return
	}
	a := evidence.AuthorityOf(l.URL)
	at, _ := canon.ParseAuthority(a) // the zero Authority has no host
	for _, d := range r.by {
		if d.Matches(at.Host()) && (l.Pace-d.Delay).Abs() <= time.Millisecond {
			return
		}
	}
	operator := r.by.Of(at).Delay
	required := "an earlier mark that the operator increased the delay of the host to " + finding.Round(l.Pace)
	observed := fmt.Sprintf("%s has it, but no mark does", place)
	if operator > 0 {
		observed = fmt.Sprintf("%s has it, but the marks have %s", place, finding.Round(operator))
	}
	r.wrong = append(r.wrong, finding.Finding{Code: finding.GapTold, URL: l.URL, Authority: a, Time: l.Time, Required: required, Observed: observed})
}
