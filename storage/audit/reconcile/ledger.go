package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/sorted"
)

// Options say how an archive is compared with a ledger.
type Options struct {
	Dir string // where its segments are

	// Root is the crawl directory, whose files the ledger has marks of, and Settings the name of its settings there. Empty
	// for a package.
	Root, Settings string
	// Before begins the names of settings before, where a run with others has not begun.
	Before string
	// Stated and Base are what is asked of a package: the digest of a file of which it left something out, and
	// what the file is called.
	Stated, Base func(path string) string

	Key       checkpoint.Key          // the operator's, as the auditor knows it; zero for none
	Witnesses []checkpoint.Key        // whose cosignatures count
	Heads     []checkpoint.Checkpoint // that were lodged elsewhere
	Kept      *checkpoint.Checkpoint  // the newest one that the operator's own machine has kept; nil for none
	KeptIn    string                  // the file that holds it

	TempDir string // for what does not fit into Memory; empty means the system's
	Memory  int    // in bytes. Zero means 16 MiB
}

// Ledger compares an archive with the ledger of the same crawl: the lines are those of its checkpoints,
// every exchange and every refusal stands in both, and both tell the same of it. The files of the crawl are those that
// the ledger has marks of. It is an audit.Witness.
//
// The ledger is read first, for the times of its runs. Both sides go, under the id of the record, into one
// sorted.Sorter, so their orders need not be the same and memory is bounded.
type Ledger struct {
	o         Options
	check     *audit.LedgerCheck
	all       *sorted.Sorter
	runs      runs
	unsent    unsent
	size      int64 // of the ledger, when it was read
	running   bool  // it grew since then
	unended   bool  // the last run has no stop
	log       *vouched
	files     markedFiles
	maps      []*ledger.Mark // the last marks of hosts, two at most
	optOuts   optOuts
	optedOut  optedOut
	raised    raised
	odd       []finding.Finding // lines and marks that contradict their run
	tooSoon   []finding.Finding // changes in the first run, if that is the crawl's
	redacted  redacted
	taken     taken
	problem   []ledger.Entry
	unsaid    []*ledger.Mark // marks of runs that do not say that the one before was killed
	unset     []*ledger.Mark // those that say that the clock was set back, though no line before is so late
	latest    time.Time      // of lines and marks so far
	kills     []ledger.Entry // what a kill leaves: nothing is wrong with the lines
	more      int64          // problems beyond maxProblems
	moreKills int64          // beyond as many
	last      int            // segment
	buf       []byte
}

var (
	_ audit.Witness  = (*Ledger)(nil)
	_ audit.Redactor = (*Ledger)(nil)
)

// maxProblems bounds the faults of the ledger that are kept. The first is what matters: where the ledger was changed.
const maxProblems = 100

// Open reads the ledger and returns it as an audit.Witness.
func Open(ctx context.Context, o Options) (*Ledger, error) {
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	l := &Ledger{o: o, check: &audit.LedgerCheck{Dir: o.Dir}, all: sorted.New(o.TempDir, o.Memory), runs: newRuns(),
		optOuts: optOuts{map[listOf]bool{}, map[int]bool{}, map[int][]string{}, map[listOf]namedBy{}}}
	var err error
	l.log, err = newVouched(&l.o)
	if err == nil {
		l.size, err = sizeOf(o.Dir)
	}
	if err == nil {
		err = l.read(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("audit: %w", err), l.all.Close())
	}
	return l, nil
}

func (l *Ledger) read(ctx context.Context) error {
	segment := -1
	l.optedOut.open(l.o.Root)
	for e, err := range ledger.Scan(l.o.Dir) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.Problem == nil && e.Segment != segment {
			segment = e.Segment
			l.last = segment
			l.check.Segments++
		}
		if e.Problem == nil {
			l.log.entry(&e)
		}
		switch {
		case e.Problem != nil:
			l.fault(e)
		case e.Mark != nil:
			l.mark(&e)
		case e.Forgotten:
			l.check.Forgotten++
			l.redacted.stub()
		default:
			if err := l.line(&e); err != nil {
				return err
			}
		}
	}
	l.unended = l.runs.open
	l.runs.close()
	l.check.Runs, l.check.Crashes = l.runs.count, l.runs.crashed
	return l.taken.read(ctx, l.o.Dir, l.maps, l.redacted.bodies)
}

func (l *Ledger) fault(e ledger.Entry) {
	kept, more := &l.problem, &l.more
	if e.Problem.Fault == ledger.NoStop {
		kept, more = &l.kills, &l.moreKills
	}
	if len(*kept) == maxProblems {
		*more++
		return
	}
	*kept = append(*kept, e)
}

func (l *Ledger) mark(e *ledger.Entry) {
	m := e.Mark
	l.files.take(e.Index, m)
	l.redacted.mark(m)
	l.taken.mark(m)
	defer func() { l.latest = later(l.latest, m.Time) }()
	switch m.Kind {
	case ledger.KindRun:
		if l.runs.open && !m.Killed && len(l.unsaid) < maxProblems {
			l.unsaid = append(l.unsaid, m)
		}
		// Both are read off the clock in microseconds, and cut. A line that was forgotten may have been so late.
		late := m.Time.Add(m.ClockBack - time.Millisecond)
		if m.ClockBack > 0 && l.check.Forgotten == 0 && l.latest.Before(late) && len(l.unset) < maxProblems {
			l.unset = append(l.unset, m)
		}
		l.runs.begin(m)
		l.optOuts.mark(l.runs.now(), m)
		l.optedOut.mark(m)
	case ledger.KindOptOuts:
		l.optOuts.mark(l.runs.now(), m)
		l.optedOut.mark(m)
		l.runs.trace(m.Time)
	case ledger.KindStop:
		l.runs.trace(m.Time)
		l.stop(m)
		l.runs.end()
	case ledger.KindRedaction:
		l.runs.idle = true
	case ledger.KindOperator:
		l.raised.mark(m) // that of a crawl which was stopped, or killed, is no trace of its last run
	case ledger.KindBegin, ledger.KindKey: // they come before the mark of the run that they are of
	case ledger.KindHosts:
		l.maps = append(l.maps[max(0, len(l.maps)-1):], m)
		l.runs.trace(m.Time)
	default:
		l.runs.trace(m.Time)
	}
}

func (l *Ledger) line(e *ledger.Entry) error {
	d := &e.Line
	l.check.Lines++
	l.runs.line(d.Time)
	l.latest = later(l.latest, d.Time)
	l.redacted.time(d.Time)
	place := fmt.Sprintf("segment %d line %d", e.Segment, e.Row)
	l.optOuts.line(l.runs.now(), d, place)
	l.optedOut.line(d, place)
	l.raised.line(d, place)
	l.changed(d, place)
	switch {
	case d.Record != "":
		return l.add(lineRow(place, d))
	case d.Attempt > 0 || !d.Began.IsZero():
		l.check.Unsent++
		l.unsent.add(d.URL, d.Time)
		return nil
	}
	l.check.Refusals++
	return l.add(refusalRow(true, place, d))
}

func (l *Ledger) add(a row) error {
	if a.line {
		a.run = l.runs.now()
	}
	l.buf = a.append(l.buf[:0])
	return l.all.Add(l.buf)
}

// Exchange implements audit.Witness.
func (l *Ledger) Exchange(_ context.Context, e *evidence.Exchange, found finding.Report) error {
	l.check.Records++
	l.hides(e, found)
	l.repeats(e, found)
	l.stepped(e, found)
	return l.add(recordRow(e))
}

// Refused implements audit.Witness.
func (l *Ledger) Refused(_ context.Context, d *storage.Line, at finding.Place, _ finding.Report) error {
	return l.add(refusalRow(false, placeText(at), d))
}

func placeText(p finding.Place) string { return fmt.Sprintf("%s offset %d", p.File, p.Offset) }

// Close implements Witness: it compares.
func (l *Ledger) Close(ctx context.Context, r *audit.Result, found finding.Report) (err error) {
	defer func() { err = errors.Join(err, l.all.Close()) }()
	if err := l.groups(ctx, l.lastTraces); err != nil {
		return err
	}
	running, err := l.grown()
	if err != nil {
		return err
	}
	l.running = running
	l.faults(found)
	l.storedMap(found)
	l.optOuts.judge(found)
	if l.optedOut.unread {
		r.CannotShow = append(r.CannotShow, "ledger: requests refused by an opt-out list that is not in the crawl directory as it was "+
			"then, or that had several versions: they are checked against the entries that lines name")
	}
	if !l.runs.moreArchived {
		l.odd = append(l.odd, l.tooSoon...)
	}
	for _, f := range slices.Concat(l.optedOut.asked, l.raised.wrong, l.odd) {
		found(f)
	}
	v, err := l.log.judge(ctx, l.check, found)
	if err != nil {
		return err
	}
	if err := l.compareFiles(ctx, r.Files, found); err != nil {
		return err
	}
	if err := l.groups(ctx, func(lines, records []row) { l.judge(lines, records, found) }); err != nil {
		return err
	}
	l.redacted.tell(l.o.Dir, found)
	l.tell(r, v)
	return nil
}

// maxGroup bounds how many rows under one key are looked at together. An honest archive has one on each side; the
// same refusal may stand more than once.
const maxGroup = 1024

// groups shows the rows under each key.
func (l *Ledger) groups(ctx context.Context, show func(lines, records []row)) error {
	var key [16]byte
	var lines, records []row
	for b, err := range l.all.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		a := parseRow(b)
		if a.key != key || len(lines)+len(records) == maxGroup {
			show(lines, records)
			key, lines, records = a.key, lines[:0], records[:0]
		}
		if a.line {
			lines = append(lines, a)
		} else {
			records = append(records, a)
		}
	}
	show(lines, records)
	return nil
}

// lastTraces finds where killed runs ended in the archive.
func (l *Ledger) lastTraces(lines, records []row) {
	both := min(len(lines), len(records))
	for i := range both {
		l.runs.paired(&lines[i])
	}
	for i := both; i < len(records); i++ {
		l.runs.recorded(&records[i])
	}
}

// judge compares the rows under one key.
func (l *Ledger) judge(lines, records []row, found finding.Report) {
	both := min(len(lines), len(records))
	for i := range both {
		said := differences(&lines[i], &records[i])
		if of := l.runs.of(records[i].at().File); said == "" && !lines[i].refusal && of != noRun &&
			!l.runs.alike(of, lines[i].run) {
			said = fmt.Sprintf("the line is of run %d of the ledger, and the record's file of run %d", lines[i].run, of)
		}
		if said != "" && l.redacted.body(&lines[i], &records[i]) {
			l.check.Redacted++
			said = ""
		}
		if records[i].damaged && (said == "" || records[i].gone) {
			continue
		}
		if said != "" {
			f := lines[i].finding(finding.LedgerDiffers, "equal values in line and record of a request",
				lines[i].place+": "+said)
			f.Place = records[i].at()
			found(f)
			continue
		}
		l.check.Agree++
	}
	for i := range lines[both:] {
		l.alone(&lines[both+i], finding.LedgerExtra, "every line of the ledger has its record in the archive",
			"has none", found)
	}
	for i := range records[both:] {
		l.alone(&records[both+i], finding.LedgerMissing, "every record of the archive has its line in the ledger",
			"has none", found)
	}
}

// alone is about what stands in one of the two.
func (l *Ledger) alone(a *row, code finding.Code, required, observed string, found finding.Report) {
	f := a.finding(code, required, a.place+" "+observed)
	if code == finding.LedgerMissing {
		l.check.Untold++
	}
	if l.runs.inFlight(a, l.running) {
		l.check.InFlight++
		f.Code, f.Note, f.Observed = finding.CrashInFlight, true, f.Observed+": in flight at a crash"
	} else if x := l.runs.known(l.runs.of(f.File)); code == finding.LedgerMissing && x != nil && x.killed &&
		x.untold > x.most() {
		f.Observed += fmt.Sprintf(", like %d requests of its run: a kill leaves %d at most", x.untold, x.most())
	}
	found(f)
}

// Crashed reports whether a kill of the crawl may have lost the record of a request that was sent at some instant
// from one to the other.
func (l *Ledger) Crashed(from, to time.Time) bool { return l.runs.around(from, to) }

// NoLedger stands for the ledger of a crawl directory that has none. A crawl of ours makes that folder before it asks
// for anything, so an archive of ours without it was tampered with; those of other crawlers have no ledger.
func NoLedger(dir string) audit.Witness { return &noLedger{dir: dir} }

type noLedger struct {
	audit.Silent

	dir  string
	ours bool
}

func (n *noLedger) Info(_ context.Context, in *evidence.Info, _ finding.Report) error {
	n.ours = n.ours || in.Ours
	return nil
}

func (n *noLedger) Close(_ context.Context, _ *audit.Result, found finding.Report) error {
	if n.ours {
		found(finding.Finding{
			Code: finding.LedgerLines, Place: finding.Place{File: n.dir},
			Required: "a ledger beside the archive of a crawl (ledger reference)",
			Observed: "the folder is missing",
		})
	}
	return nil
}
