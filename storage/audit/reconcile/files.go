package reconcile

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

// The folders of a crawl directory whose finished files have marks, and their kinds.
const (
	archiveFolder = "warc"
	indexFolder   = "index"
	archiveSuffix = ".warc.gz"
	indexSuffix   = ".cdxj"
)

// compareFiles compares the crawl's files with their marks.
func (l *Ledger) compareFiles(ctx context.Context, archive []evidence.File, found finding.Report) error {
	f := &l.files
	l.check.Files = int64(len(f.all))
	for _, d := range f.differ {
		found(d)
	}
	late := map[string]bool{} // indexes of files that a kill excuses
	for _, file := range archive {
		base := filepath.Base(file.Name)
		if l.o.Base != nil {
			base = l.o.Base(file.Name)
		}
		if evidence.Unfinished(file.Name) {
			continue
		}
		sum, octets := file.SHA256, file.Octets
		if l.o.Stated != nil {
			if of := l.o.Stated(file.Name); of != "" {
				sum, octets = of, -1 // the package has its own count of omissions
			}
		}
		excused := l.running || l.runs.mayLackMark(file.Name)
		late[strings.TrimSuffix(base, archiveSuffix)] = excused
		name := archiveFolder + "/" + base
		if _, known := f.all[name]; !known && l.o.Root == "" { // it was moved and renamed
			name = f.of(sum, name)
		}
		l.file(name, file.Name, octets, sum, excused, found)
	}
	if l.o.Root != "" {
		if err := l.indexes(ctx, late, found); err != nil {
			return err
		}
		if err := l.settings(ctx, found); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.all)) {
		m := f.all[name]
		if m.seen || l.o.Root == "" && !strings.HasPrefix(name, archiveFolder+"/") {
			continue
		}
		path := filepath.Join(l.o.Root, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err == nil && l.running {
			continue // it was finished in between
		}
		found(finding.Finding{Code: finding.FileMissing, Place: finding.Place{File: path},
			Required: fmt.Sprintf("the file of %d bytes in entry %d of the ledger", m.octets, m.index),
			Observed: "it is missing"})
	}
	return nil
}

func (f *markedFiles) of(sum, name string) string {
	for other, m := range f.all {
		if m.sum == sum && !m.seen && strings.HasPrefix(other, archiveFolder+"/") {
			return other
		}
	}
	return name
}

func (l *Ledger) file(name, file string, octets int64, sum string, excused bool, found finding.Report) {
	at, f := finding.Place{File: file}, &l.files
	m, known := f.all[name]
	if !known {
		d := finding.Finding{Code: finding.FileExtra, Place: at, Observed: "no mark",
			Required: "a mark in the ledger for each finished file of archive and index (ledger reference)"}
		if excused {
			d.Code, d.Note = finding.CrashInFlight, true
			d.Observed += ": the crawl was killed, or continues, before the mark was written"
		}
		if !f.more {
			found(d)
		}
		return
	}
	m.seen = true
	f.all[name] = m
	switch {
	case sum != m.sum:
		found(finding.Finding{Code: finding.FileDiffers, Place: at, Observed: "it has the SHA-256 " + sum,
			Required: fmt.Sprintf("the SHA-256 %s, as in entry %d of the ledger", m.sum, m.index)})
	case octets >= 0 && octets != m.octets:
		found(finding.Finding{Code: finding.FileDiffers, Place: at, Observed: fmt.Sprintf("%d bytes", octets),
			Required: fmt.Sprintf("%d bytes, as in entry %d of the ledger", m.octets, m.index)})
	default:
		l.check.FilesAgree++
	}
}

func (l *Ledger) indexes(ctx context.Context, late map[string]bool, found finding.Report) error {
	folder := filepath.Join(l.o.Root, indexFolder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), indexSuffix)
		if !ok {
			continue
		}
		file := filepath.Join(folder, e.Name())
		octets, sum, err := durable.Digest(ctx, file)
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		l.file(path.Join(indexFolder, e.Name()), file, octets, hex.EncodeToString(sum[:]), l.running || late[base], found)
	}
	return nil
}

func (l *Ledger) settings(ctx context.Context, found finding.Report) error {
	f, file := &l.files, filepath.Join(l.o.Root, l.o.Settings)
	if f.settings == "" {
		return nil
	}
	d := finding.Finding{Code: finding.Settings, Place: finding.Place{File: file},
		Required: "the settings of the last run, of SHA-256 " + f.settings + " as its mark in the ledger has it"}
	_, sum, err := durable.Digest(ctx, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Observed = "the file is missing"
	case err != nil:
		return err
	case hex.EncodeToString(sum[:]) != f.settings:
		d.Observed = fmt.Sprintf("they have the SHA-256 %x: they were changed since that run began", sum)
		if d.Note = l.before(ctx); d.Note {
			d.Observed = "others were written for a run that has not started, and the earlier ones are beside them"
		}
	default:
		return nil
	}
	found(d)
	return nil
}

// before reports whether the settings of the last run are stored beside those of a run that has not begun.
func (l *Ledger) before(ctx context.Context) bool {
	names, err := os.ReadDir(l.o.Root)
	if err != nil || l.o.Before == "" {
		return false
	}
	for _, e := range names {
		if !strings.HasPrefix(e.Name(), l.o.Before) {
			continue
		}
		if _, sum, err := durable.Digest(ctx, filepath.Join(l.o.Root, e.Name())); err == nil && hex.EncodeToString(sum[:]) == l.files.settings {
			return true
		}
	}
	return false
}

type markedFiles struct {
	all      map[string]mark // by name, relative to the crawl directory, with slashes
	more     bool            // than are kept
	settings string          // SHA-256 that the last run binds; "" for none
	differ   []finding.Finding
}

type mark struct {
	octets int64
	sum    string // SHA-256, in hexadecimal digits
	index  int64  // of its entry
	seen   bool   // its file exists
}

// maxMarks bounds the names: a crawl has one for each GiB. maxDiffer bounds the faults of redactions.
const (
	maxMarks  = 1 << 20
	maxDiffer = 100
)

func (f *markedFiles) take(index int64, m *ledger.Mark) {
	switch m.Kind {
	case ledger.KindRun:
		f.settings = m.Settings
	case ledger.KindOperator:
		if m.Operator.Settings != "" {
			f.settings = m.Operator.Settings
		}
	case ledger.KindFile:
		f.put(m.Name, mark{octets: m.Octets, sum: m.SHA256, index: index})
	case ledger.KindRedaction:
		for _, of := range m.Redaction.Files {
			if was, ok := f.all[of.Name]; ok && was.sum != of.Before && len(f.differ) < maxDiffer {
				f.differ = append(f.differ, finding.Finding{Code: finding.FileDiffers, Place: finding.Place{File: of.Name},
					Time: m.Time, Required: "a redaction of the file in the ledger with the SHA-256 " + was.sum,
					Observed: fmt.Sprintf("entry %d has %s as its former SHA-256", index, of.Before)})
			}
			f.put(of.Name, mark{octets: of.Octets, sum: of.SHA256, index: index})
		}
	}
}

func (f *markedFiles) put(name string, m mark) {
	if f.all == nil {
		f.all = map[string]mark{}
	}
	if _, known := f.all[name]; !known && len(f.all) >= maxMarks {
		f.more = true
		return
	}
	f.all[name] = m
}

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

func (l *Ledger) faults(found finding.Report) {
	for _, e := range l.problem {
		p := e.Problem
		f := finding.Finding{Code: finding.LedgerLines, Place: finding.Place{File: l.o.Dir}, Observed: p.String(),
			Required: "a ledger as the ledger reference defines it"}
		if c, known := charges[p.Fault]; known {
			f.Code, f.Required = c.code, c.required
		}
		excused := false
		switch p.Fault {
		case ledger.KeyChanged: // a resume with another configuration folder signs with another key
			f.Note = true
		case ledger.Torn:
			excused = l.atEnd(e)
		case ledger.NoLines:
			excused = l.atEnd(e) && l.killedAtEnd()
		case ledger.Uncommitted:
			excused = l.killedAtEnd()
		case ledger.BadTiles: // they follow from the lines, and are not made durable
			f.Note = l.killedAtEnd()
		case ledger.Empty:
			if l.check.Records == 0 {
				continue
			}
		}
		if excused {
			f.Code, f.Note = finding.CrashInFlight, true
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
	for _, m := range l.silent {
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

// atEnd reports whether a problem is in the last segment: a kill can tear no other.
func (l *Ledger) atEnd(e ledger.Entry) bool {
	return l.last <= e.Segment &&
		!slices.ContainsFunc(l.problem, func(other ledger.Entry) bool { return other.Segment > e.Segment })
}

// killedAtEnd reports whether a kill may have come before the last checkpoint, or while its map replaced the old one.
func (l *Ledger) killedAtEnd() bool {
	if l.unended || l.running {
		return true
	}
	_, err := os.Lstat(filepath.Join(l.o.Dir, ledger.HostsName+".new"))
	return err == nil
}

// maxUnsent bounds the attempts kept. Beyond it every delay is explained.
const maxUnsent = 1 << 20

// unsent are the ends of attempts that reached no server, in Unix microseconds. They have no record, but end a delay.
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

// between reports whether an attempt may have ended between two instants. A line is written a moment after its event.
func (u *unsent) between(authority string, from, to time.Time) bool {
	const moment = time.Second
	first, last := from.Add(-moment).UnixMicro(), to.Add(moment).UnixMicro()
	return u.full || slices.ContainsFunc(u.at[authority], func(t int64) bool { return first <= t && t <= last })
}

// hides reports an exchange before which another one must be missing in both archive and ledger.
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

func (l *Ledger) report(r *audit.Result, v *vouching) {
	c := l.check
	r.Ledger = c
	if c.SignerKnown {
		r.Reach(inPart(audit.SignedByKnown, c), fmt.Sprintf("the first %d of %s, by %s", c.Covered, entries(c.Entries), v.signer.Name()))
	}
	l.lodged(r)
	for _, size := range v.lacks {
		r.Refute(audit.Lodged, fmt.Sprintf("the checkpoint of %s is not in this ledger", plainly.Count(size, "line")))
	}
	r.CannotShow = append(r.CannotShow, unshown(struct {
		*audit.LedgerCheck
		Signed         string // name of the signer
		KeyGiven, Bare bool   // the ledger is without its crawl directory
		Behind         int64  // lines after the last checkpoint
	}{c, v.signer.Name(), !l.o.Key.IsZero(), l.o.Root == "", c.Entries - c.Covered})...)
}

var unshown = plainly.Sentences(`{{if not .Signed}}ledger: no checkpoint of these lines is signed: nothing ties them to a key
{{else if not (or .SignerKnown .KeyGiven)}}ledger: the signer is unknown: {{.Signed}} may be anybody's key; give the operator's verifier key (--key)
{{end}}{{if not .Lodged}}ledger: no one else is known to have seen it (--checkpoint, --witness-key): the holder of the key may have rewritten all of it
ledger: lines removed after its last one, together with their records: they leave no trace except a missing stop
{{else if .Since}}ledger: {{count .Since "decision"}} after the last checkpoint that someone else has: no one else confirms them
{{end}}{{with .Behind}}ledger: {{if eq . 1}}1 entry{{else}}{{.}} entries{{end}} after its last checkpoint: nothing commits to them yet
{{end}}{{if .Forgotten}}ledger: the content of {{count .Forgotten "line"}} that were removed: only their hashes remain
{{end}}{{if .Unsent}}ledger: {{count .Unsent "attempt"}} reached no server and left no record to compare
{{end}}{{if .Crashes}}ledger: {{count .Crashes "run"}} did not end cleanly; the requests in flight may be missing from it or from the archive ({{.InFlight}} named)
{{end}}{{if .Bare}}ledger: index and settings, which are in the crawl directory{{end}}`)

func inPart(l audit.Level, c *audit.LedgerCheck) audit.Level {
	if c.Covered < c.Entries {
		return l.InPart()
	}
	return l
}

const maxKeys = 16

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func (l *Ledger) lodged(r *audit.Result) {
	var best *audit.Lodging
	for i := range l.check.Lodged {
		d := &l.check.Lodged[i]
		if best == nil || d.Size > best.Size ||
			d.Size == best.Size && !d.At.IsZero() && (best.At.IsZero() || d.At.Before(best.At)) {
			best = d
		}
	}
	if best == nil {
		return
	}
	what := fmt.Sprintf("the first %d of %s", best.Size, entries(l.check.Entries))
	if best.How == audit.ByHead {
		what += ", by the given checkpoint"
	} else {
		what += fmt.Sprintf(", before %s, by %s", best.At.UTC().Format("2006-01-02 15:04:05 UTC"), plainly.OneLine(best.By))
	}
	r.Reach(inPart(audit.Lodged, l.check), what)
}
