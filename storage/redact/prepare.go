package redact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/warc"
)

// Request says what is to be forgotten.
type Request struct {
	Dir     string // a crawl directory that the caller holds, with no segment left open
	Subject Subject
	All     bool     // everything, and not bodies alone
	Reason  string   // stands in the ledger; may be empty
	OptOut  string   // what an opt-out list says of the subject, for Journal.OptOut; may be empty
	Packed  []string // packed files, for Journal.Packed
}

// maxReason bounds a reason, in bytes.
const maxReason = 4 << 10

// ErrNothing says that a directory has nothing of a subject.
var ErrNothing = errors.New("nothing of it is there")

// ErrDone says that a directory has no body of a subject any more.
var ErrDone = errors.New("no body of it is there any more")

// ErrUnfinished says that a directory has a journal: something is being forgotten, or was when a kill came.
var ErrUnfinished = errors.New("forgetting was broken off")

// Find says what would be done. Errors are ErrNothing and ErrDone, with what was found.
func Find(ctx context.Context, r Request) (Found, error) {
	a, _, err := r.find(ctx)
	if a == nil {
		return Found{}, err
	}
	return a.Found, err
}

// find goes through archive and ledger.
func (r *Request) find(ctx context.Context) (*archived, *lines, error) {
	a, err := find(ctx, r.Dir, &r.Subject, r.All)
	if err != nil {
		return nil, nil, err
	}
	l, err := findLines(ctx, r.Dir, r, a)
	if err != nil {
		return nil, nil, err
	}
	a.Lines = int64(len(l.entries))
	switch {
	case !a.nothing():
		return a, l, nil
	case a.Before > 0 && !r.All:
		return a, l, ErrDone
	}
	return a, l, ErrNothing
}

// Prepare finds what is the subject's, writes the new files, and then the journal: Finish has to follow, now or later.
// Without a journal nothing was changed. Errors are ErrNothing, ErrDone and ErrUnfinished, among others.
func Prepare(ctx context.Context, r Request) (*Journal, error) {
	return prepare(ctx, r, &disk{dir: r.Dir})
}

func prepare(ctx context.Context, r Request, d *disk) (_ *Journal, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if d.there(JournalName) {
		return nil, ErrUnfinished
	}
	if err := d.now(d.removal(PreparedName)); err != nil { // of a Prepare that was broken off
		return nil, err
	}
	a, l, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && !d.there(JournalName) {
			err = errors.Join(err, d.now(d.removal(PreparedName)))
		}
	}()
	j := &Journal{Format: journalFormat, Time: time.Now().UTC(), Subject: r.Subject.Text, Extent: r.extent(), Reason: r.Reason,
		Salt: newSalt(), Found: a.Found, Entries: l.entries, Hosts: l.hosts, OptOut: r.OptOut, Packed: r.Packed}
	j.Digest = Digest(j.Salt, j.Subject)
	for _, id := range a.ids {
		j.Records = append(j.Records, ledger.RedactedRecord{ID: id, Blocks: l.blocks[id]})
	}
	for _, name := range a.touched {
		files, err := a.rewrite(ctx, d, name)
		if err != nil {
			return nil, err
		}
		j.Files = append(j.Files, files...)
	}
	if err := j.findCopies(d); err != nil {
		return nil, err
	}
	return j, j.write(d)
}

func (r *Request) check() error {
	switch {
	case r.Subject.Text == "" || r.Subject.Covers == nil:
		return errors.New("forget: no subject")
	case len(r.Reason) > maxReason:
		return fmt.Errorf("redact: the reason is longer than %d bytes", maxReason)
	}
	return nil
}

func (r *Request) extent() string {
	if r.All {
		return ledger.ExtentAll
	}
	return ledger.ExtentBodies
}

// rewrite prepares a segment and its index.
func (a *archived) rewrite(ctx context.Context, d *disk, name string) (files []ledger.RedactedFile, err error) {
	segment, index := archiveDir+"/"+name, indexDir+"/"+strings.TrimSuffix(name, segmentSuffix)+indexSuffix
	for _, folder := range []string{archiveDir, indexDir} {
		if err := d.folder(PreparedName + "/" + folder); err != nil {
			return nil, err
		}
	}
	fresh := PreparedName + "/" + segment
	one, err := d.renewed(ctx, segment, func(w io.Writer) error { return warc.Rewrite(ctx, w, d.path(segment), a.edit) })
	if err != nil {
		return nil, err
	}
	files = append(files, one)
	if !d.there(index) { // the next run makes it
		return files, nil
	}
	one, err = d.renewed(ctx, index, func(w io.Writer) error {
		var bad error
		err := cdxj.Index(ctx, w, func(path string, f warc.Finding) {
			if bad == nil && !f.Note() {
				bad = fmt.Errorf("%s: %s", path, f)
			}
		}, d.path(fresh))
		return errors.Join(err, bad)
	})
	return append(files, one), err
}

// renewed prepares the file of a name, and says what it was and is.
func (d *disk) renewed(ctx context.Context, name string, write func(w io.Writer) error) (f ledger.RedactedFile, err error) {
	_, before, err := durable.Digest(ctx, d.path(name))
	if err == nil {
		err = d.write(PreparedName+"/"+name, write)
	}
	var sum [sha256.Size]byte
	if err == nil {
		f.Octets, sum, err = durable.Digest(ctx, d.path(PreparedName+"/"+name))
	}
	f.Name, f.Before, f.SHA256 = name, hex.EncodeToString(before[:]), hex.EncodeToString(sum[:])
	return f, err
}

// findCopies notes what else may hold what goes.
func (j *Journal) findCopies(d *disk) error {
	for _, folder := range []string{archiveDir, ""} {
		entries, err := os.ReadDir(d.path(folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget: %w", err)
		}
		for _, e := range entries {
			name := filepath.ToSlash(filepath.Join(folder, e.Name()))
			if e.Type().IsRegular() && mayRemove(name) {
				j.Remove = append(j.Remove, name)
			}
		}
	}
	for _, name := range []string{spoolDir, linksDir} {
		if d.there(name) {
			j.Remove = append(j.Remove, name)
		}
	}
	for _, name := range []string{"report.json", "mirror"} {
		if d.there(name) {
			j.Made = append(j.Made, name)
		}
	}
	return nil
}

// Open returns the journal of a directory, which is to be finished, or nil. It takes away what was
// prepared and came to nothing. The caller holds the directory.
func Open(dir string) (*Journal, error) {
	j, err := readJournal(dir)
	if j != nil || err != nil {
		return j, err
	}
	d := disk{dir: dir}
	return nil, d.now(d.removal(PreparedName))
}

// Pending reports whether a directory has a journal.
func Pending(dir string) bool { return (&disk{dir: dir}).there(JournalName) }

// Left reports whether a directory has a journal, or something that was prepared. Without the directory's lock they may
// be those of a process at work.
func Left(dir string) bool {
	return Pending(dir) || (&disk{dir: dir}).there(PreparedName)
}

// lines are what of a ledger is the subject's.
type lines struct {
	entries []int64           // that become stubs, ascending
	hosts   []string          // of which no line is left
	blocks  map[string]string // what lines say of the exchanges that change (storage.Line.Blocks), by their ids
}

// findLines goes through the ledger.
func findLines(ctx context.Context, dir string, r *Request, a *archived) (*lines, error) {
	l := &lines{blocks: map[string]string{}}
	gone, stay := map[string]bool{}, map[string]bool{}
	n := 0
	for p, err := range ledger.Places((&disk{dir: dir}).path(ledgerDir)) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil && !r.All {
			break // what its lines say of the blocks is told as far as it can be read; an audit says more
		}
		if err != nil {
			return nil, fmt.Errorf("forget: %w; nothing was changed: curtsy audit shows the faults of the ledger", err)
		}
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if id := p.Line.Record; a.seen[id] {
			l.blocks[id] = p.Line.Blocks
		}
		if !r.All {
			continue
		}
		host := hostmap.Host(p.Line.URL)
		if !r.Subject.takes(&p.Line) {
			stay[host] = true
			continue
		}
		gone[host] = true
		l.entries = append(l.entries, p.Index)
	}
	maps.DeleteFunc(gone, func(host string, _ bool) bool { return stay[host] })
	l.hosts = slices.Sorted(maps.Keys(gone))
	return l, nil
}
