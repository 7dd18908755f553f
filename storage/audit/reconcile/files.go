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

	"curtsy/frontier/durable"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// The folders of a crawl directory whose finished files have marks, and what those are called.
const (
	archiveFolder = "warc"
	indexFolder   = "index"
	archiveSuffix = ".warc.gz"
	indexSuffix   = ".cdxj"
)

// compareFiles holds the files of the crawl, whose WARC files were read, against their marks.
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
				sum, octets = of, -1 // the package says how much it left out
			}
		}
		excused := l.running || l.runs.mayLackMark(file.Name)
		late[strings.TrimSuffix(base, archiveSuffix)] = excused
		name := archiveFolder + "/" + base
		if _, known := f.all[name]; !known && l.o.Root == "" { // it was moved, and given another name
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
			continue // it was finished meanwhile
		}
		found(finding.Finding{Code: finding.FileMissing, Place: finding.Place{File: path},
			Required: fmt.Sprintf("the file of %d bytes in entry %d of the ledger", m.octets, m.index),
			Observed: "it is missing"})
	}
	return nil
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

// file holds one file against its mark.
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

// indexes holds the finished files of the index against their marks.
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

// settings holds the settings against the mark of the last run.
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

// before reports whether the settings that the last run binds are kept beside those of a run that has not begun.
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

// take takes a mark of the ledger.
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
