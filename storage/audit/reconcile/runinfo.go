package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// Info implements Witness: each warcinfo record is the one that the mark of a run binds, and the files stand in the
// order of the runs.
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
	says, key := in.LedgerKey, x.mark.Key
	if says == "" || key == "" { // no key could be had, or the ledger is not signed, which the level says
		says, key = "", ""
	}
	for _, c := range [...]struct{ field, says, mark, marked string }{
		{"config-sha256", in.ConfigSHA, "settings_sha256", x.mark.Settings},
		{"opt-out-sha256", listsDigest(listsIn(in)), "optouts_sha256", x.mark.OptOuts},
		{"ledger-key", says, "key", key},
	} {
		if c.says != c.marked {
			f.Required = fmt.Sprintf("%s as the mark of the run has %s (ledger reference): %q", c.field, c.mark, c.marked)
			f.Observed = fmt.Sprintf("%q", c.says)
			found(f)
		}
	}
}

// listsDigest is what a mark binds of opt-out lists: the SHA-256 of the one that there is, or that of the SHA-256s of all.
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

// stop takes the mark that ends a run in good order: no line of the run is dated behind it.
func (l *Ledger) stop(m *ledger.Mark) {
	if x := l.runs.known(l.runs.now()); x != nil && x.dated.After(m.Time) && len(l.odd) < maxProblems {
		l.odd = append(l.odd, finding.Finding{Code: finding.LedgerLines, Place: finding.Place{File: l.o.Dir}, Time: m.Time,
			Required: "a stop that is dated after all lines of its run (ledger reference)",
			Observed: "one of them is dated " + x.dated.UTC().Format(time.RFC3339Nano)})
	}
}

// changed takes the line of an exchange: in the first run of a crawl there is nothing that a URL could have changed since,
// unless the archive is older than the ledger.
func (l *Ledger) changed(d *storage.Line, place string) {
	if l.runs.count > 1 || d.Change == "" || d.Change == storage.ChangeNew || len(l.tooSoon) >= maxProblems {
		return
	}
	l.tooSoon = append(l.tooSoon, finding.Finding{Code: finding.LedgerLines, URL: d.URL, Authority: evidence.AuthorityOf(d.URL), Time: d.Time,
		Place:    finding.Place{File: l.o.Dir},
		Required: "a run before that of a change since the generation before (ledger reference)",
		Observed: fmt.Sprintf("%s says %s, and its run is the first", place, finding.Short(string(d.Change)))})
}

// stepped takes an exchange before which the clock is said to have been set back. Within a run dates never go back:
// its file is of a later run than all before it.
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

// grown reports whether the ledger has grown since it was read: the crawl runs.
func (l *Ledger) grown() (bool, error) {
	size, err := sizeOf(l.o.Dir)
	return size != l.size, err
}

// sizeOf is the size of what is in a folder.
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

// raised holds paces of which lines say that the operator raised them against the marks of that. A pace that is kept, and
// was asked for by nobody, is no breach of politeness: it is a ledger that does not tell what was.
type raised struct {
	by    evidence.Info // the pauses that marks before tell of, as a warcinfo record would
	wrong []finding.Finding
}

// maxRaised bounds the marks that are kept, and the findings.
const maxRaised = 1000

func (r *raised) mark(m *ledger.Mark) {
	if o := m.Operator; o != nil && o.Act == ledger.ActDelay && len(r.by.Delays) < maxRaised {
		r.by.Delays = append(r.by.Delays, evidence.HostDelay{Hosts: o.Hosts, Pause: o.Delay})
	}
}

// line takes a line, behind the marks that stand before it. Of several marks the longest pause counts, since none takes one
// back.
func (r *raised) line(l *storage.Line, place string) {
	if l.PaceBy != storage.ByOperator || len(r.by.Delays) >= maxRaised || len(r.wrong) >= maxRaised {
		return
	}
	a := evidence.AuthorityOf(l.URL)
	for _, d := range r.by.Delays {
		one := evidence.Info{Delays: []evidence.HostDelay{d}}
		if told := one.Delay(a); told > 0 && (l.Pace-told).Abs() <= time.Millisecond {
			return
		}
	}
	told := r.by.Delay(a)
	required := "an earlier mark that the operator increased the delay of the host to " + finding.Round(l.Pace)
	observed := fmt.Sprintf("%s has it, but no mark does", place)
	if told > 0 {
		observed = fmt.Sprintf("%s has it, but the marks have %s", place, finding.Round(told))
	}
	r.wrong = append(r.wrong, finding.Finding{Code: finding.GapTold, URL: l.URL, Authority: a, Time: l.Time, Required: required, Observed: observed})
}

func (r *raised) judge(found finding.Report) {
	for _, f := range r.wrong {
		found(f)
	}
}
