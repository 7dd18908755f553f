package reconcile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

// charges say what each fault of a ledger is called, and what was required.
var charges = map[ledger.Fault]struct {
	code     finding.Code
	required string
}{
	ledger.Changed:     {finding.LedgerLines, "the lines that the checkpoints stand for (ledger reference)"},
	ledger.Disagree:    {finding.LedgerLines, "marks that agree with the lines (ledger reference)"},
	ledger.Unreadable:  {finding.LedgerLines, "lines as the ledger reference defines them"},
	ledger.Torn:        {finding.LedgerLines, "every line has an end"},
	ledger.Copies:      {finding.LedgerLines, "one form of each segment, plain or packed, or two of the same lines"},
	ledger.NoLines:     {finding.LedgerLines, "segments with lines: only a kill leaves an empty one, after the last"},
	ledger.Missing:     {finding.LedgerLines, "every segment of the ledger"},
	ledger.Empty:       {finding.LedgerLines, "the mark of a run before its first request (ledger reference)"},
	ledger.NewSchema:   {finding.LedgerLines, "a schema that this version supports"},
	ledger.NoStop:      {finding.LedgerLines, "a run ends with its mark"},
	ledger.RootDiffers: {finding.LedgerRoot, "checkpoints of the ledger's lines (ledger reference)"},
	ledger.BadNote:     {finding.LedgerRoot, "checkpoints that can be read (ledger reference)"},
	ledger.Uncommitted: {finding.LedgerRoot, "a checkpoint of all lines (ledger reference)"},
	ledger.Rollback:    {finding.LedgerShort, "all lines that the checkpoints stand for"},
	ledger.WrongOrigin: {finding.LedgerOrigin, "one origin in all segments and checkpoints"},
	ledger.BadSig:      {finding.LedgerSigner, "checkpoints that the key of their run has signed"},
	ledger.KeyChanged:  {finding.LedgerSigner, "one key, or a rotation from it to the next (ledger reference)"},
	ledger.MapDiffers:  {finding.LedgerHosts, "a completeness map of the ledger's lines (ledger reference)"},
	ledger.BadTiles:    {finding.LedgerTiles, "tiles of the latest checkpoint, and no other files among them (ledger reference)"},
	ledger.Unnamed:     {finding.Redacted, "a mark of a redaction for each line that was removed (ledger reference)"},
}

// faults reports what is wrong with the ledger itself.
func (l *Ledger) faults(found finding.Report) {
	for _, e := range l.problem {
		p := e.Problem
		f := finding.Finding{Code: finding.LedgerLines, Place: finding.Place{File: l.o.Dir}, Observed: p.String(),
			Required: "a ledger as the ledger reference defines it"}
		if c, known := charges[p.Fault]; known {
			f.Code, f.Required = c.code, c.required
		}
		switch p.Fault {
		case ledger.KeyChanged: // who resumes with another configuration folder signs with another key
			f.Note = true
		case ledger.Torn:
			if l.atEnd(e) {
				f.Code, f.Note = finding.CrashInFlight, true
			}
		case ledger.NoLines:
			if l.atEnd(e) && l.killedAtEnd() {
				f.Code, f.Note = finding.CrashInFlight, true
			}
		case ledger.Uncommitted:
			if l.killedAtEnd() {
				f.Code, f.Note = finding.CrashInFlight, true
			}
		case ledger.BadTiles: // they follow from the lines, and are not made durable
			f.Note = l.killedAtEnd()
		case ledger.Empty:
			if l.check.Records == 0 {
				continue
			}
		}
		found(f)
	}
	killed := finding.Finding{Code: finding.CrashInFlight, Note: true, Place: finding.Place{File: l.o.Dir},
		Required: charges[ledger.NoStop].required}
	for _, e := range l.kills {
		killed.Observed = e.Problem.String()
		found(killed)
	}
	for range l.moreKills {
		killed.Observed = "no stop"
		found(killed)
	}
	for range l.more {
		found(finding.Finding{Code: finding.LedgerLines, Place: finding.Place{File: l.o.Dir}, Observed: "more faults",
			Required: "a ledger as the ledger reference defines it"})
	}
	for _, m := range l.unsaid {
		found(finding.Finding{Code: finding.LedgerLines, Place: finding.Place{File: l.o.Dir}, Time: m.Time,
			Required: "a mark of a run that records the kill of the run before, which has no stop (ledger reference)",
			Observed: "it records no kill"})
	}
	for _, m := range l.unset {
		found(finding.Finding{Code: finding.LedgerLines, Place: finding.Place{File: l.o.Dir}, Time: m.Time,
			Required: "a line before the mark of a run that is as late as the step back of the clock that the mark records " +
				"(ledger reference)",
			Observed: "it records a step of " + m.ClockBack.String() + ", and no line is so late"})
	}
}

// atEnd reports whether a problem is of the last segment, which alone a kill can tear.
func (l *Ledger) atEnd(e ledger.Entry) bool {
	return l.last <= e.Segment &&
		!slices.ContainsFunc(l.problem, func(other ledger.Entry) bool { return other.Segment > e.Segment })
}

// killedAtEnd reports whether a kill may have come before the last checkpoint. A run that has its stop is killed while
// it makes that: then the new map is left beside the old one, which it replaces as the last step.
func (l *Ledger) killedAtEnd() bool {
	if l.unended || l.running {
		return true
	}
	_, err := os.Lstat(filepath.Join(l.o.Dir, ledger.HostsName+".new"))
	return err == nil
}

// maxUnsent bounds the attempts that are remembered. Beyond it every pause is explained.
const maxUnsent = 1 << 20

// unsent are the attempts that reached no server, by authority: when each line says that it ended, in Unix
// microseconds. They have no record, and end a pause all the same.
type unsent struct {
	at   map[string][]int64
	n    int
	full bool
}

func (u *unsent) add(url string, t time.Time) {
	if u.full = u.full || u.n == maxUnsent; u.full {
		return
	}
	if u.at == nil {
		u.at = map[string][]int64{}
	}
	name := evidence.AuthorityOf(url)
	u.at[name] = append(u.at[name], t.UnixMicro())
	u.n++
}

// between reports whether there was one with the authority between two instants, or there may have been. A line is
// written a moment after what it tells of.
func (u *unsent) between(authority string, from, to time.Time) bool {
	const moment = time.Second
	first, last := from.Add(-moment).UnixMicro(), to.Add(moment).UnixMicro()
	return u.full || slices.ContainsFunc(u.at[authority], func(t int64) bool { return first <= t && t <= last })
}

// hides reports an exchange before which another one must have been, of which neither archive nor ledger holds
// anything.
func (l *Ledger) hides(e *evidence.Exchange, found finding.Report) {
	if e.Since.IsZero() || l.unsent.between(e.Authority, e.Since, e.Began) || l.explains(e, e.Began.Add(-e.Line.Gap)) {
		return
	}
	f := e.Finding(finding.GapTold, "a record, or at least a line, of each request: the crawl recorded that another "+
		"one ended "+finding.Round(e.Line.Gap)+" before this",
		"the last one that archive and ledger hold ended at "+finding.Clock(e.Since)+", "+
			finding.Round(e.Began.Sub(e.Since))+" before this")
	f.Place = e.LineAt
	found(f)
}

// tell says what the ledger proves.
func (l *Ledger) tell(r *audit.Result, v *vouching) {
	c := l.check
	r.Ledger = c
	if c.SignerKnown {
		r.Reach(inPart(audit.SignedByKnown, c), fmt.Sprintf("the first %d of %s, by %s", c.Covered, entries(c.Entries), v.signer.Name()))
	}
	l.lodged(r)
	for _, size := range v.lacks {
		r.Refute(audit.Lodged, fmt.Sprintf("the checkpoint of %s is not in this ledger", plainly.Count(size, "line")))
	}
	say := func(format string, args ...any) { r.CannotShow = append(r.CannotShow, fmt.Sprintf(format, args...)) }
	switch {
	case v.signer.IsZero():
		say("ledger: no checkpoint of these lines is signed: nothing ties them to a key")
	case !c.SignerKnown && l.o.Key.IsZero():
		say("ledger: the signer is unknown: %s may be anybody's key; give the operator's verifier key (--key)",
			v.signer.Name())
	}
	switch {
	case len(c.Lodged) == 0:
		say("ledger: no one else is known to have seen it (--checkpoint, --witness-key): the holder of the key may have " +
			"rewritten all of it")
		say("ledger: lines removed after its last one, together with their records: they leave no trace except a missing " +
			"stop")
	case c.Since > 0:
		say("ledger: %s after the last checkpoint that someone else has: no one else confirms them",
			plainly.Count(c.Since, "decision"))
	}
	if behind := c.Entries - c.Covered; behind > 0 {
		say("ledger: %s after its last checkpoint: nothing commits to them yet", entries(behind))
	}
	if c.Forgotten > 0 {
		say("ledger: the content of %s that were removed: only their hashes remain",
			plainly.Count(c.Forgotten, "line"))
	}
	if c.Unsent > 0 {
		say("ledger: %s reached no server and left no record to compare", plainly.Count(c.Unsent, "attempt"))
	}
	if c.Crashes > 0 {
		say("ledger: %s did not end cleanly; the requests in flight may be missing from it or from the "+
			"archive (%d named)", plainly.Count(c.Crashes, "run"), c.InFlight)
	}
	if l.o.Root == "" {
		say("ledger: index and settings, which are in the crawl directory")
	}
}

// inPart is a level of a ledger, in part while entries are behind its last checkpoint.
func inPart(l audit.Level, c *audit.LedgerCheck) audit.Level {
	if c.Covered < c.Entries {
		return l.InPart()
	}
	return l
}

// maxKeys bounds the keys that are told.
const maxKeys = 16

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// lodged says until which entry somebody else vouches for the ledger, and since when at the latest.
func (l *Ledger) lodged(r *audit.Result) {
	var best *audit.Lodging
	for i := range l.check.Lodged {
		d := &l.check.Lodged[i]
		switch {
		case best == nil, d.Size > best.Size:
			best = d
		case d.Size == best.Size && !d.At.IsZero() && (best.At.IsZero() || d.At.Before(best.At)):
			best = d
		}
	}
	if best == nil {
		return
	}
	what := fmt.Sprintf("the first %d of %s", best.Size, entries(l.check.Entries))
	switch best.How {
	case audit.ByHead:
		what += ", by the given checkpoint"
	default:
		what += fmt.Sprintf(", before %s, by %s", best.At.UTC().Format("2006-01-02 15:04:05 UTC"), plainly.OneLine(best.By))
	}
	r.Reach(inPart(audit.Lodged, l.check), what)
}
