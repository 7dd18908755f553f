package redact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
)

// Journal is what is to be done, and what was found.
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
	Packed  []string                `json:"packed"` // packed files, by their paths, that the caller makes anew
	Made    []string                `json:"made"`   // names of what is derived that was there, for the caller to make anew
}

// journalFormat is that of the journal.
const journalFormat = 1

// maxJournal bounds a journal, in bytes: some 10 million entries.
const maxJournal = 1 << 30

// readJournal reads the journal of a directory; nil if there is none.
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

// parseJournal reads a journal. It may have come with a directory, from anybody: no name in it leads elsewhere, but
// for those of packed files, which the caller makes anew only if they are packed of this crawl.
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

// mayReplace reports whether a name is that of a segment, or of the index of one.
func mayReplace(name string) bool {
	folder, file := path.Split(name)
	return plain(file) && (folder == archiveDir+"/" && strings.HasSuffix(file, segmentSuffix) ||
		folder == indexDir+"/" && strings.HasSuffix(file, indexSuffix))
}

// mayRemove reports whether a name is of something that may hold copies, and that nothing else needs.
func mayRemove(name string) bool {
	folder, file := path.Split(name)
	switch folder {
	case archiveDir + "/":
		return plain(file) && holdsCopies(file)
	case "":
		return name == spoolDir || name == linksDir || plain(file) && isReport(file)
	}
	return false
}

// holdsCopies reports whether a name in the archive's folder is of a torn tail that was put aside, or of an exchange
// that was on its way into a segment.
func holdsCopies(file string) bool {
	return strings.HasSuffix(file, segmentSuffix+".cut") || strings.HasSuffix(file, ".spool")
}

// isReport reports whether a name in the directory is of what a report, an audit or an update says of the crawl.
func isReport(file string) bool {
	stem, ok := strings.CutSuffix(file, ".json")
	if !ok {
		stem, ok = strings.CutSuffix(file, ".html")
	}
	return ok && (stem == "report" || strings.HasPrefix(stem, "report-") || stem == "audit" || file == "changes.json")
}

// plain reports whether a name leads nowhere else.
func plain(file string) bool {
	return file != "" && file[0] != '.' && !strings.ContainsAny(file, "/\\\x00")
}

// write writes the journal, durably: from here on it is done.
func (j *Journal) write(d *disk) error {
	return d.write(JournalName, func(w io.Writer) error { return json.NewEncoder(w).Encode(j) })
}

// Told is a redaction as the ledger tells of it, in one mark or several.
type Told struct {
	Time time.Time // of the first of them
	ledger.Redaction
}

// Redactions are all that a ledger tells of.
type Redactions struct {
	All   []Told
	files map[string]string // by name and former digest; the one it has since
}

// Marks reads the redactions of the crawl in dir from its ledger. It checks no mark: an audit does, and holds what is
// missing against them. A crawl without a ledger has none.
func Marks(ctx context.Context, dir string) (*Redactions, error) {
	return MarksIn(ctx, (&disk{dir: dir}).path(ledgerDir))
}

// MarksIn is Marks of a folder that is a ledger.
func MarksIn(ctx context.Context, folder string) (*Redactions, error) {
	r := &Redactions{files: map[string]string{}}
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

// Add takes a mark; those of other kinds say nothing here.
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
	for _, f := range m.Redaction.Files {
		r.files[f.Name+"\n"+f.Before] = f.SHA256
		t.Files = append(t.Files, f)
	}
}

// Lines is how many lines of the ledger were redacted.
func (r *Redactions) Lines() (n int64) {
	for _, t := range r.All {
		n += int64(len(t.Entries))
	}
	return n
}

// File returns the digest that a file has now of which a file mark states another, by way of all redactions that wrote
// it anew; that one if there was none.
func (r *Redactions) File(name, sha256 string) string {
	for range len(r.files) {
		next, ok := r.files[name+"\n"+sha256]
		if !ok {
			break
		}
		sha256 = next
	}
	return sha256
}
