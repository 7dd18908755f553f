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
	"curtsy/storage/sorted"
)

// Options say how an archive is compared with a ledger.
type Options struct {
	Dir string // where its segments are

	// Head is the hash that was lodged elsewhere, which the chain must pass through. Nil means none.
	Head *ledger.Hash

	TempDir string // for what does not fit into Memory; empty means the system's
	Memory  int    // in bytes. Zero means 16 MiB
}

// Ledger compares an archive with the ledger of the same crawl: the chain and its signatures hold, every exchange and
// every refusal stands in both, and both tell the same of it. It is an audit.Witness.
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
	plain     bool  // a segment has no chain: it is older than the refusals in archives
	problem   []ledger.Entry
	kills     []ledger.Entry // what a stop leaves that was no good one: nothing is wrong with the chain
	more      int64          // problems beyond maxProblems
	moreKills int64          // beyond as many
	last      int            // segment
	buf       []byte
}

var _ audit.Witness = (*Ledger)(nil)

// maxProblems bounds the faults of the chain that are kept. The first is what matters: where the ledger was changed.
const maxProblems = 100

// Open reads the ledger and returns it as an audit.Witness.
func Open(ctx context.Context, o Options) (*Ledger, error) {
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	l := &Ledger{o: o, check: &audit.LedgerCheck{Dir: o.Dir, Unsigned: true}, all: sorted.New(o.TempDir, o.Memory),
		runs: newRuns()}
	if o.Head != nil {
		l.check.Lodged = o.Head.String()
	}
	var err error
	if l.size, err = sizeOf(o.Dir); err == nil {
		err = l.read(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("audit: %w", err), l.all.Close())
	}
	return l, nil
}

func (l *Ledger) read(ctx context.Context) error {
	segment := -1
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
		switch {
		case e.Problem != nil:
			l.fault(e)
		case e.Mark != nil:
			l.mark(e.Mark)
		default:
			if err := l.line(&e); err != nil {
				return err
			}
		}
		if o := l.o.Head; o != nil && e.Problem == nil && e.Chain == *o {
			l.check.Found, l.check.Since = true, 0
		}
	}
	l.runs.close()
	l.check.Runs, l.check.Crashes = l.runs.count, l.runs.crashed
	return nil
}

func (l *Ledger) fault(e ledger.Entry) {
	if e.Problem.Fault == ledger.Unchained {
		l.plain = true
	}
	kept, more := &l.problem, &l.more
	if f := e.Problem.Fault; f == ledger.NoEnd || f == ledger.AfterHead {
		kept, more = &l.kills, &l.moreKills
	}
	if len(*kept) == maxProblems {
		*more++
		return
	}
	*kept = append(*kept, e)
}

func (l *Ledger) mark(m *ledger.Mark) {
	switch m.Kind {
	case ledger.KindRun:
		l.runs.begin(m)
	case ledger.KindHead:
		l.check.Head = m.Chain.String()
		l.check.Unsigned = m.Key == nil
		if key := ledger.Fingerprint(m.Key); m.Key != nil && len(l.check.Keys) < 16 &&
			!slices.Contains(l.check.Keys, key) {
			l.check.Keys = append(l.check.Keys, key)
		}
		if l.runs.trace(m.Time); m.Why == ledger.WhyEnd {
			l.runs.end()
		}
	}
}

func (l *Ledger) line(e *ledger.Entry) error {
	d := &e.Line
	l.check.Lines++
	l.check.Since++
	l.runs.trace(d.Time)
	place := fmt.Sprintf("segment %d line %d", e.Segment, e.Row)
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
	l.chain(found)
	if err := l.groups(ctx, l.lastTraces); err != nil {
		return err
	}
	running, err := l.grown()
	if err != nil {
		return err
	}
	l.running = running
	if err := l.groups(ctx, func(lines, records []row) { l.judge(lines, records, found) }); err != nil {
		return err
	}
	l.tell(r)
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
		if said != "" {
			f := lines[i].finding(finding.LedgerDiffers, "line and record of an exchange tell the same",
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
	if l.plain && a.refusal {
		return // older archives hold no refusals; tell says so
	}
	f := a.finding(code, required, a.place+" "+observed)
	if code == finding.LedgerMissing {
		l.check.Untold++
	}
	if l.runs.inFlight(a, l.running) {
		l.check.InFlight++
		f.Code, f.Note, f.Observed = finding.CrashInFlight, true, f.Observed+": in flight at a crash"
	} else if x := l.runs.known(l.runs.of(f.File)); code == finding.LedgerMissing && x != nil && x.killed &&
		x.untold > x.most() {
		f.Observed += fmt.Sprintf(", as %d exchanges of its run have: a kill leaves %d at most", x.untold, x.most())
	}
	found(f)
}

// Crashed reports whether a kill of the crawl may have lost the record of a request that was sent at some instant
// from one to the other.
func (l *Ledger) Crashed(from, to time.Time) bool { return l.runs.around(from, to) }
