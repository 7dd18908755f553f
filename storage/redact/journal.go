package redact

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
)

// Journal has the work to do, and the findings.
type Journal struct {
	Format  int       `json:"format"`
	Time    time.Time `json:"time"`
	Subject string    `json:"subject"`
	Extent  string    `json:"extent"` // of package ledger
	Reason  string    `json:"reason"`
	Salt    string    `json:"salt"`
	Digest  string    `json:"subject_sha256"`
	Found   Found     `json:"found"`

	Records []ledger.RedactedRecord `json:"records"`
	Entries []int64                 `json:"entries"`
	Hosts   []string                `json:"hosts"`  // that lose their names
	Files   []ledger.RedactedFile   `json:"files"`  // that are prepared
	Remove  []string                `json:"remove"` // that go
	OptOut  string                  `json:"optout"` // an entry that the caller puts on the list of the crawl
	Packed  []string                `json:"packed"` // packed files, by their paths, that the caller remakes
	Made    []string                `json:"made"`   // names of derived files that existed, for the caller to remake
}

const (
	journalFormat = 1
	maxJournal    = 1 << 30 // bytes: some 10 million entries
)

func readJournal(dir string) (*Journal, error) {
	d := disk{dir: dir}
	f, err := durable.Open(d.path(JournalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("forget: %w", err)
	}
	defer f.Close()
	j, err := parseJournal(io.LimitReader(f, maxJournal))
	if err != nil {
		return nil, fmt.Errorf("forget: %s: %w", d.path(JournalName), err)
	}
	return j, nil
}

// parseJournal reads a journal that may come from anybody: no name in it leads elsewhere, except those of packed files, which
// the caller makes again only if they are of this crawl.
func parseJournal(r io.Reader) (*Journal, error) {
	j := new(Journal)
	d := json.NewDecoder(r)
	if err := d.Decode(j); err != nil {
		return nil, fmt.Errorf("not a journal of curtsy redact: %w", err)
	}
	if j.Format != journalFormat {
		return nil, fmt.Errorf("it is of format %d, and %d is known: finish it with the version of curtsy that began it", j.Format, journalFormat)
	}
	if j.Extent != ledger.ExtentBodies && j.Extent != ledger.ExtentAll {
		return nil, fmt.Errorf("its extent is %.40q", j.Extent)
	}
	if j.Digest != Digest(j.Salt, j.Subject) {
		return nil, errors.New("its digest does not match its subject")
	}
	for _, f := range j.Files {
		if !mayReplace(f.Name) {
			return nil, fmt.Errorf("%.200q is not a file that a redaction rewrites", f.Name)
		}
	}
	for _, name := range j.Remove {
		if !mayRemove(name) {
			return nil, fmt.Errorf("%.200q is not a file that a redaction removes", name)
		}
	}
	return j, nil
}

func mayReplace(name string) bool {
	folder, file := path.Split(name)
	return plain(file) && (folder == archiveDir+"/" && strings.HasSuffix(file, segmentSuffix) ||
		folder == indexDir+"/" && strings.HasSuffix(file, indexSuffix))
}

// mayRemove reports whether a name may be of copies that nothing else needs.
func mayRemove(name string) bool {
	folder, file := path.Split(name)
	switch folder {
	case archiveDir + "/":
		return plain(file) && (strings.HasSuffix(file, segmentSuffix+".cut") || strings.HasSuffix(file, ".spool")) // torn tail, exchange
	case "":
		return name == spoolDir || plain(file) && isReport(file)
	}
	return false
}

func isReport(file string) bool {
	stem, ok := strings.CutSuffix(file, ".json")
	if !ok {
		stem, ok = strings.CutSuffix(file, ".html")
	}
	return ok && (stem == "report" || strings.HasPrefix(stem, "report-") || stem == "audit" || file == "changes.json")
}

func plain(file string) bool {
	return file != "" && file[0] != '.' && !strings.ContainsAny(file, "/\\\x00")
}

func (j *Journal) write(d *disk) error {
	return d.write(JournalName, func(w io.Writer) error { return json.NewEncoder(w).Encode(j) })
}

// Told is a redaction in the ledger, in one mark or several.
type Told struct {
	Time time.Time // of the first of them
	ledger.Redaction
}

// Redactions are those of a ledger.
type Redactions struct{ All []Told }

// Marks reads the redactions of the crawl in dir from its ledger, unchecked: an audit checks them. Without a ledger it has none.
func Marks(ctx context.Context, dir string) (*Redactions, error) {
	return MarksIn(ctx, (&disk{dir: dir}).path(ledgerDir))
}

// MarksIn is Marks of the folder of a ledger.
func MarksIn(ctx context.Context, folder string) (*Redactions, error) {
	r := &Redactions{}
	for m, err := range ledger.Marks(folder) {
		if errors.Is(err, fs.ErrNotExist) {
			return r, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("redactions: %w", err)
		}
		r.Add(m)
	}
	return r, nil
}

// Add adds a redaction mark; it ignores others.
func (r *Redactions) Add(m *ledger.Mark) {
	if m.Kind != ledger.KindRedaction || m.Redaction == nil {
		return
	}
	at := -1
	for i := range r.All {
		if t := &r.All[i]; t.Subject == m.Redaction.Subject && t.Extent == m.Redaction.Extent {
			at = i
		}
	}
	if at < 0 {
		at = len(r.All)
		r.All = append(r.All, Told{Time: m.Time, Redaction: ledger.Redaction{Extent: m.Redaction.Extent,
			Reason: m.Redaction.Reason, Subject: m.Redaction.Subject}})
	}
	t := &r.All[at]
	t.Records = append(t.Records, m.Redaction.Records...)
	t.Entries = append(t.Entries, m.Redaction.Entries...)
	t.Files = append(t.Files, m.Redaction.Files...)
}

// Lines is the number of redacted lines of the ledger.
func (r *Redactions) Lines() (n int64) {
	for _, t := range r.All {
		n += int64(len(t.Entries))
	}
	return n
}

// Step is a repeatable step of a redaction.
type Step struct {
	Name  string // the name of the step
	Where string // with which file, or folder, of the directory
	Do    func(ctx context.Context) error
}

// Hands are the caller's parts of Finish.
type Hands struct {
	Ledger func() (*ledger.Writer, error) // opens the ledger of the directory, with the operator's key

	// Before runs before archive and ledger change, After runs after that. A step of After may release the directory.
	Before, After []Step
}

// Finish does the steps of a journal and removes it last. Until it returns nil, nothing else may use the directory. The end of
// ctx leaves no step of archive and ledger half done.
func (j *Journal) Finish(ctx context.Context, dir string, h Hands) error {
	return j.finish(ctx, &disk{dir: dir}, h)
}

func (j *Journal) finish(ctx context.Context, d *disk, h Hands) error {
	if err := j.ready(ctx, d); err != nil {
		return err
	}
	for _, s := range slices.Concat(h.Before, j.steps(d, h), h.After, []Step{d.removal(JournalName)}) {
		if err := d.do(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// steps change archive, index and ledger, and remove possible copies.
func (j *Journal) steps(d *disk, h Hands) []Step {
	all := []Step{d.step("tell", ledgerDir, func(ctx context.Context) error { return j.mark(ctx, d, h) })}
	for _, f := range j.Files {
		all = append(all, d.placing(f.Name))
	}
	if j.Extent == ledger.ExtentAll {
		all = append(all, d.step("forget lines in", ledgerDir, func(context.Context) error {
			return errors.Join(ledger.Forget(d.path(ledgerDir), j.Entries), ledger.ForgetHosts(d.path(ledgerDir), j.Hosts))
		}))
	}
	for _, name := range j.Remove {
		all = append(all, d.removal(name))
	}
	all = append(all, d.step("remove drafts of", JournalName, func(context.Context) error { return d.sweep() }))
	return append(all, d.removal(PreparedName))
}

// ready checks that each file is prepared, or already placed, before the ledger records it.
func (j *Journal) ready(ctx context.Context, d *disk) error {
	for _, name := range []string{PreparedName, PreparedName + "/" + archiveDir, PreparedName + "/" + indexDir} {
		if err := durable.Folder(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget: %w", err)
		}
	}
	for _, f := range j.Files {
		if err := j.prepared(ctx, d, f); err != nil {
			return err
		}
	}
	return nil
}

func (j *Journal) prepared(ctx context.Context, d *disk, f ledger.RedactedFile) error {
	for _, name := range []string{PreparedName + "/" + f.Name, f.Name} {
		_, sum, err := durable.Digest(ctx, d.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("forget: %w", err)
		}
		switch hex.EncodeToString(sum[:]) {
		case f.SHA256:
			return nil
		case f.Before:
		default:
			return fmt.Errorf("redact: %s changed since this redaction started: restore it, and repeat the command", d.path(name))
		}
	}
	return fmt.Errorf("forget: %s is gone, which %s names: put it back, and run the command again",
		d.path(PreparedName+"/"+f.Name), d.path(JournalName))
}

// mark adds the mark to the ledger, unless it has it, and a checkpoint.
func (j *Journal) mark(ctx context.Context, d *disk, h Hands) (err error) {
	marked, err := j.isMarked(ctx, d)
	if err != nil {
		return err
	}
	w, err := h.Ledger()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if marked {
		return nil
	}
	if err := w.Begin(ctx); err != nil { // its mark names the signing key
		return err
	}
	return w.Redact(ctx, ledger.Redaction{Extent: j.Extent, Reason: j.Reason, Subject: j.Digest, Records: j.Records,
		Entries: j.Entries, Files: j.Files})
}

// isMarked reports whether the ledger has all marks of this journal. If a kill left some, all are written again.
func (j *Journal) isMarked(ctx context.Context, d *disk) (bool, error) {
	m, err := Marks(ctx, d.dir)
	if err != nil {
		return false, err
	}
	for _, one := range m.All {
		if one.Subject == j.Digest {
			return len(one.Records) >= len(j.Records) && len(one.Entries) >= len(j.Entries) && len(one.Files) >= len(j.Files), nil
		}
	}
	return false, nil
}

func (d *disk) sweep() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+JournalName+".") && e.Type().IsRegular() {
			if err := os.Remove(d.path(e.Name())); err != nil {
				return err
			}
		}
	}
	return durable.Names(d.dir)
}

const (
	JournalName  = "forget.journal" // the steps to be done, until they are
	PreparedName = "forget.new"     // new files, until they take their places

	archiveDir    = "warc"
	indexDir      = "index"
	ledgerDir     = "ledger"
	spoolDir      = "spool"
	segmentSuffix = ".warc.gz"
	indexSuffix   = ".cdxj"
)

// disk changes the files of a directory in steps. A test stops it before any of them.
type disk struct {
	dir  string
	stop func(step string) error // only in tests
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *disk) do(ctx context.Context, s Step) error {
	if d.stop != nil {
		if err := d.stop(s.Name + " " + s.Where); err != nil {
			return err
		}
	}
	return s.Do(ctx)
}

// step returns a step that ctx does not end.
func (d *disk) step(name, where string, do func(ctx context.Context) error) Step {
	return Step{name, where, func(ctx context.Context) error {
		if err := do(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("forget: %s %s: %w", name, d.path(where), err)
		}
		return nil
	}}
}

func (d *disk) now(s Step) error { return d.do(context.Background(), s) }

func (d *disk) write(name string, f func(w io.Writer) error) error {
	return d.now(d.step("write", name, func(context.Context) error { return durable.File(d.path(name), f) }))
}

func (d *disk) folder(name string) error {
	return d.now(d.step("make", name, func(context.Context) error { return durable.MakeFolder(d.path(name)) }))
}

// placing moves a prepared file to its place, unless it is already there.
func (d *disk) placing(name string) Step {
	return d.step("place", name, func(context.Context) error {
		if !d.there(PreparedName + "/" + name) {
			return nil
		}
		err := durable.MakeFolder(filepath.Dir(d.path(name)))
		if err == nil {
			err = os.Rename(d.path(PreparedName+"/"+name), d.path(name))
		}
		if err != nil {
			return err
		}
		return durable.Names(filepath.Dir(d.path(name)))
	})
}

// removal removes a file or folder durably, if it exists.
func (d *disk) removal(name string) Step {
	return d.step("remove", name, func(context.Context) error {
		if !d.there(name) {
			return nil
		}
		if err := os.RemoveAll(d.path(name)); err != nil {
			return err
		}
		return durable.Names(filepath.Dir(d.path(name)))
	})
}

func (d *disk) there(name string) bool {
	_, err := os.Lstat(d.path(name))
	return err == nil
}
