package reconcile

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
	"path"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// markedOptions say what is there.
type markedOptions struct {
	// Root is the crawl directory; empty for a package, which has neither index files nor settings.
	Root string
	// Settings is the name of the file of the settings in Root.
	Settings string
	// Before begins the names of settings that the last run had, where others were written for a run that has not begun.
	Before string
	// Archive are the WARC files that were read, and Base what each is called in the folder of the archive, by its path; nil
	// for the last part of that.
	Archive []evidence.File
	Base    func(path string) string
	// Stated returns the digest that a package states of a file of the crawl, by the path of one of Archive, where it has
	// left something out of it; "" for what it packed whole.
	Stated func(path string) string
	// Running says that the crawl goes on: it may have finished files since ledger and archive were listed.
	Running bool
	// Excused reports whether a kill may have come between a WARC file's end and its mark.
	Excused func(path string) bool
}

// The folders of a crawl directory whose finished files have marks, and what those are called.
const (
	archiveFolder = "warc"
	indexFolder   = "index"
	archiveSuffix = ".warc.gz"
	indexSuffix   = ".cdxj"
)

// Compare holds the files against their marks, and reports how many of them agree.
func (f *markedFiles) Compare(ctx context.Context, o markedOptions, found finding.Report) (agree int64, err error) {
	for _, d := range f.differ {
		found(d)
	}
	late := map[string]bool{} // indexes of files that a kill excuses
	for _, file := range o.Archive {
		base := filepath.Base(file.Name)
		if o.Base != nil {
			base = o.Base(file.Name)
		}
		if evidence.Unfinished(file.Name) {
			continue
		}
		sum, octets := file.SHA256, file.Octets
		if o.Stated != nil {
			if of := o.Stated(file.Name); of != "" {
				sum, octets = of, -1 // the package says how much it left out
			}
		}
		excused := o.Running || o.Excused != nil && o.Excused(file.Name)
		late[strings.TrimSuffix(base, archiveSuffix)] = excused
		name := archiveFolder + "/" + base
		if _, known := f.all[name]; !known && o.Root == "" { // it was moved, and given another name
			name = f.of(sum, name)
		}
		if f.holds(name, file.Name, octets, sum, excused, found) {
			agree++
		}
	}
	if o.Root != "" {
		n, err := f.indexes(ctx, o, late, found)
		if err != nil {
			return agree, err
		}
		if agree += n; f.settings != "" {
			if err := f.bound(o, found); err != nil {
				return agree, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.all)) {
		m := f.all[name]
		if m.seen || o.Root == "" && !strings.HasPrefix(name, archiveFolder+"/") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(o.Root, filepath.FromSlash(name))); err == nil && o.Running {
			continue // it was finished meanwhile
		}
		found(finding.Finding{Code: finding.FileMissing, Place: finding.Place{File: filepath.Join(o.Root, filepath.FromSlash(name))},
			Required: fmt.Sprintf("the file of %d bytes in entry %d of the ledger", m.octets, m.index),
			Observed: "it is missing"})
	}
	return agree, nil
}

// of is the name of the WARC file with that digest, if no file was taken for it yet; else it is the name that is given.
func (f *markedFiles) of(sum, name string) string {
	for other, m := range f.all {
		if m.sum == sum && !m.seen && strings.HasPrefix(other, archiveFolder+"/") {
			return other
		}
	}
	return name
}

// holds holds one file against its mark.
func (f *markedFiles) holds(name, file string, octets int64, sum string, excused bool, found finding.Report) bool {
	at := finding.Place{File: file}
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
		return false
	}
	m.seen = true
	f.all[name] = m
	switch {
	case sum != m.sum:
		found(finding.Finding{Code: finding.FileDiffers, Place: at, Observed: "it has the SHA-256 " + sum,
			Required: fmt.Sprintf("the SHA-256 %s, as in entry %d of the ledger", m.sum, m.index)})
		return false
	case octets >= 0 && octets != m.octets:
		found(finding.Finding{Code: finding.FileDiffers, Place: at, Observed: fmt.Sprintf("%d bytes", octets),
			Required: fmt.Sprintf("%d bytes, as in entry %d of the ledger", m.octets, m.index)})
		return false
	}
	return true
}

// indexes holds the finished files of the index against their marks.
func (f *markedFiles) indexes(ctx context.Context, o markedOptions, late map[string]bool, found finding.Report) (agree int64, err error) {
	folder := filepath.Join(o.Root, indexFolder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("audit: %w", err)
	}
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), indexSuffix)
		if !ok {
			continue
		}
		file := filepath.Join(folder, e.Name())
		octets, sum, err := digest(ctx, file)
		if err != nil {
			return agree, err
		}
		if f.holds(path.Join(indexFolder, e.Name()), file, octets, sum, o.Running || late[base], found) {
			agree++
		}
	}
	return agree, nil
}

// bound holds the settings against the mark of the last run.
func (f *markedFiles) bound(o markedOptions, found finding.Report) error {
	file := filepath.Join(o.Root, o.Settings)
	d := finding.Finding{Code: finding.Settings, Place: finding.Place{File: file},
		Required: "the settings of the last run, of SHA-256 " + f.settings + " as its mark in the ledger has it"}
	b, err := readFile(file)
	sum := sha256.Sum256(b)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Observed = "the file is missing"
	case err != nil:
		return err
	case hex.EncodeToString(sum[:]) != f.settings:
		d.Observed = fmt.Sprintf("they have the SHA-256 %x: they were changed since that run began", sum)
		if d.Note = f.before(o); d.Note {
			d.Observed = "others were written for a run that has not started, and the earlier ones are beside them"
		}
	default:
		return nil
	}
	found(d)
	return nil
}

// before reports whether the settings that the last run binds are kept beside those of a run that has not begun.
func (f *markedFiles) before(o markedOptions) bool {
	names, err := os.ReadDir(o.Root)
	if err != nil || o.Before == "" {
		return false
	}
	for _, e := range names {
		if !strings.HasPrefix(e.Name(), o.Before) {
			continue
		}
		b, err := readFile(filepath.Join(o.Root, e.Name()))
		if sum := sha256.Sum256(b); err == nil && hex.EncodeToString(sum[:]) == f.settings {
			return true
		}
	}
	return false
}

// maxSettings is far more than settings are, in bytes.
const maxSettings = 16 << 20

func readFile(path string) ([]byte, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSettings))
}

// digest reads a file for its size and its SHA-256.
func digest(ctx context.Context, path string) (octets int64, sum string, err error) {
	f, err := durable.Open(path)
	if err != nil {
		return 0, "", fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	for ctx.Err() == nil {
		n, err := io.CopyN(h, f, 1<<20)
		octets += n
		if errors.Is(err, io.EOF) {
			return octets, hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return 0, "", fmt.Errorf("audit: read %s: %w", path, err)
		}
	}
	return 0, "", ctx.Err()
}

// markedFiles are the files that a ledger vouches for.
type markedFiles struct {
	all      map[string]mark // by name, relative to the crawl directory, with slashes
	more     bool            // than are kept
	settings string          // SHA-256 that the last run binds; "" for none
	differ   []finding.Finding
}

// mark is the last mark of a file.
type mark struct {
	octets int64
	sum    string // SHA-256, in hexadecimal digits
	index  int64  // of its entry
	seen   bool   // its file is there
}

// maxMarks bounds the names that are kept: a crawl has one for each GiB. maxDiffer bounds the faults of redactions.
const (
	maxMarks  = 1 << 20
	maxDiffer = 100
)

// Take takes a mark of the ledger.
func (f *markedFiles) Take(index int64, m *ledger.Mark) {
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

// Count is how many files the ledger vouches for.
func (f *markedFiles) Count() int { return len(f.all) }

// compareFiles holds the files of the crawl against their marks.
func (l *Ledger) compareFiles(ctx context.Context, r *audit.Result, found finding.Report) (err error) {
	l.check.Files = int64(l.files.Count())
	l.check.FilesAgree, err = l.files.Compare(ctx, markedOptions{
		Root: l.o.Root, Settings: l.o.Settings, Before: l.o.Before, Archive: r.Files, Stated: l.o.Stated, Base: l.o.Base,
		Running: l.running, Excused: l.runs.mayLackMark,
	}, found)
	return err
}
