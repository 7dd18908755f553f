package export

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

// Options say what is written, and where.
type Options struct {
	Dir     string // of the files; made if it is not there
	Format  sink.Format
	Sources []Source
	Sink    sink.Options
	Anew    bool        // make also what is there for the same inputs
	Told    func(*Made) // hears of each table; nil: nobody
	// Going hears now and then how many rows a table has so far; nil: nobody.
	Going func(table string, rows int64)
}

// ErrOthers says that a folder holds files that no export made.
var ErrOthers = errors.New("export: a file is in the way that no export made")

// Write makes a file of each table, unless the folder's manifest says that it is there, made of the same inputs in the
// same way. It returns what the folder then has.
func Write(ctx context.Context, in *Inputs, o Options) (*Manifest, error) {
	inputs, identity, err := in.identify()
	if err != nil {
		return nil, err
	}
	if err := durable.MakeFolder(o.Dir); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	hold, err := durable.Hold(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("export: %s: %w", o.Dir, err)
	}
	defer hold.Close()
	before, err := ReadManifest(o.Dir)
	if err != nil {
		return nil, err
	}
	m := &Manifest{Version: Version, Software: "curtsy/" + o.Sink.Version, Inputs: inputs, Identity: identity}
	switch {
	case before == nil:
	case before.alike(m) && !o.Anew:
		m.Tables, m.Outdated = before.Tables, before.Outdated
	default:
		m.Outdated = before.Outdated
		for _, t := range before.Tables {
			m.Outdated = append(m.Outdated, t.File)
		}
	}
	for _, s := range o.Sources {
		if err := o.mayReplace(s.Table.Name, before); err != nil {
			return nil, err
		}
	}
	for _, s := range o.Sources {
		made, err := o.table(ctx, in, s, m)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", s.Table.Name, err)
		}
		if o.Told != nil {
			o.Told(made)
		}
	}
	return m, nil
}

// alike reports whether tables of m are those that o would have.
func (m *Manifest) alike(o *Manifest) bool {
	return m.Version == o.Version && m.Software == o.Software && m.Identity == o.Identity
}

func (o *Options) file(table string) string { return table + o.Format.Ext() }

// mayReplace refuses to write over a file that the manifest does not name.
func (o *Options) mayReplace(table string, before *Manifest) error {
	path := filepath.Join(o.Dir, o.file(table))
	if _, err := os.Lstat(path); err != nil {
		return nil //nolint:nilerr // there is none, or the sink says what is wrong
	}
	if before != nil && before.knows(o.file(table)) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOthers, path)
}

// table makes a table, if it is not there, and notes it in the manifest.
func (o *Options) table(ctx context.Context, in *Inputs, s Source, m *Manifest) (*Made, error) {
	name := o.file(s.Table.Name)
	path := filepath.Join(o.Dir, name)
	var words []string
	if o.Format == sink.CSV && o.Sink.ExactCSV {
		words = append(words, "exact")
	}
	if s.Table.Name == tables.Pages.Name && in.NoLanguage {
		words = append(words, "no-language")
	}
	options := strings.Join(words, " ")
	if made, ok := m.of(name); ok && made.Options == options {
		if octets, sum, err := durable.Digest(ctx, path); err == nil && octets == made.Octets && hex.EncodeToString(sum[:]) == made.SHA256 {
			made.Again = true
			return &made, nil
		}
	}
	m.begin(name)
	if err := m.write(o.Dir); err != nil { // from here on it may have its name
		return nil, err
	}
	began := time.Now()
	out, err := o.rows(ctx, in, s, path)
	if err != nil {
		return nil, err
	}
	made := Made{Table: s.Table.Name, File: name, Options: options, Rows: out.Rows, LeftOut: out.Lefts, Problems: out.Problems, Notes: out.Notes,
		Seconds: time.Since(began).Round(time.Millisecond).Seconds()}
	octets, sum, err := durable.Digest(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	made.Octets, made.SHA256 = octets, hex.EncodeToString(sum[:])
	if s.Count != nil {
		if made.Check, err = s.Count(ctx, in, out); err != nil {
			return nil, err
		}
	}
	m.end(made)
	return &made, m.write(o.Dir)
}

// often is after how many rows Going hears again.
const often = 1 << 12

// rows writes the file of a table.
func (o *Options) rows(ctx context.Context, in *Inputs, s Source, path string) (*Out, error) {
	w, err := sink.Create(o.Format, path, s.Table, o.Sink)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	defer w.Abort()
	n := int64(0)
	out := NewOut(s.Table, func(r tables.Row) error {
		if n++; n%often == 0 && o.Going != nil {
			o.Going(s.Table.Name, n)
		}
		return w.Write(r)
	})
	if err := s.Rows(ctx, in, out); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return out, nil
}

// ManifestName is the file that says what was exported.
const ManifestName = "export.json"

// Version is that of the manifest and of what tables mean: those of another one are made anew.
const Version = 1

// Manifest says what was made of what.
type Manifest struct {
	Version  int     `json:"version"`
	Software string  `json:"software"`
	Inputs   []Input `json:"inputs"`
	Identity string  `json:"identity"` // SHA-256 of the inputs
	Tables   []Made  `json:"tables"`
	// Outdated are files that were made of other inputs, or that a kill came upon.
	Outdated []string `json:"outdated,omitempty"`
}

// Input is a crawl that was read.
type Input struct {
	Crawl  string `json:"crawl"`            // its name in the tables
	Origin string `json:"origin,omitempty"` // of its ledger
	Head   string `json:"head,omitempty"`   // SIZE:ROOT of the checkpoint
	Upto   int64  `json:"entries"`          // of the ledger that were read
	Files  []File `json:"files"`
}

// File is a file of archive, index or ledger.
type File struct {
	Name   string `json:"name"` // in the crawl directory
	Octets int64  `json:"octets"`
	// SHA256 is what a mark of the ledger says that the file has; empty for one that is still written, or that no mark
	// names. Then Time is when it was last written to.
	SHA256 string `json:"sha256,omitempty"`
	Time   string `json:"time,omitempty"`
}

// Made is a table that was made.
type Made struct {
	Table    string           `json:"table"`
	File     string           `json:"file"`
	Options  string           `json:"options,omitempty"` // that change what is in the file
	Rows     int64            `json:"rows"`
	Octets   int64            `json:"octets"`
	SHA256   string           `json:"sha256"`
	Seconds  float64          `json:"seconds"`
	LeftOut  map[string]int64 `json:"left_out,omitempty"` // what has no row, by reason
	Problems map[string]int64 `json:"problems,omitempty"` // rows that lack values, by what is amiss
	Notes    map[string]int64 `json:"notes,omitempty"`    // how rows were made, if that can be in several ways
	Check    *Check           `json:"check,omitempty"`    // nil where there is nothing to count
	Again    bool             `json:"-"`                  // it was made before, and is as it was
}

// input says what a crawl is made of.
func (c *Crawl) input() (in Input, err error) {
	in = Input{Crawl: c.Name, Origin: c.Origin, Head: c.Head, Upto: c.Entries}
	marks, err := c.marked()
	if err != nil {
		return in, err
	}
	for _, path := range c.index {
		if err := in.add(c, path, marks); err != nil {
			return in, err
		}
	}
	for _, name := range c.files {
		if err := in.add(c, c.archive[name], marks); err != nil {
			return in, err
		}
	}
	if c.Entries >= 0 { // the crawl goes on: its checkpoint says which lines
		return in, nil
	}
	entries, err := os.ReadDir(filepath.Join(c.Dir, crawldir.LedgerName))
	if err != nil {
		return in, fmt.Errorf("export: %w", err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.Contains(e.Name(), ".jsonl") && e.Name() != ledger.HostsName {
			if err := in.add(c, filepath.Join(c.Dir, crawldir.LedgerName, e.Name()), marks); err != nil {
				return in, err
			}
		}
	}
	return in, nil
}

// marked are the digests that the ledger has of finished files, the last one of each.
func (c *Crawl) marked() (map[string]File, error) {
	all := map[string]File{}
	for m, err := range ledger.Marks(filepath.Join(c.Dir, crawldir.LedgerName)) {
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		switch {
		case m.Kind == ledger.KindFile:
			all[m.Name] = File{Name: m.Name, Octets: m.Octets, SHA256: m.SHA256}
		case m.Redaction != nil:
			for _, f := range m.Redaction.Files {
				all[f.Name] = File{Name: f.Name, Octets: f.Octets, SHA256: f.SHA256}
			}
		}
	}
	return all, nil
}

func (in *Input) add(c *Crawl, path string, marks map[string]File) error {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a journal that was completed meanwhile: the file that took its place is another one
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	name, err := filepath.Rel(c.Dir, path)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	f := File{Name: filepath.ToSlash(name), Octets: fi.Size()}
	if m, ok := marks[f.Name]; ok && m.Octets == f.Octets {
		f.SHA256 = m.SHA256
	} else {
		f.Time = fi.ModTime().UTC().Format("2006-01-02T15:04:05.000000000Z")
	}
	in.Files = append(in.Files, f)
	return nil
}

// identify says what all inputs are made of.
func (in *Inputs) identify() (all []Input, identity string, err error) {
	for _, c := range in.Crawls {
		one, err := c.input()
		if err != nil {
			return nil, "", err
		}
		all = append(all, one)
	}
	b, err := json.Marshal(all)
	if err != nil {
		return nil, "", fmt.Errorf("export: %w", err)
	}
	sum := sha256.Sum256(b)
	return all, hex.EncodeToString(sum[:]), nil
}

// maxManifest is how much of a manifest is read.
const maxManifest = 64 << 20

// ReadManifest reads that of a folder; nil without one.
func ReadManifest(dir string) (*Manifest, error) {
	f, err := durable.Open(filepath.Join(dir, ManifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	defer f.Close()
	m := new(Manifest)
	if err := json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(m); err != nil {
		return nil, fmt.Errorf("export: read %s: %w", filepath.Join(dir, ManifestName), err)
	}
	return m, nil
}

// write puts the manifest into a folder.
func (m *Manifest) write(dir string) error {
	slices.SortFunc(m.Tables, func(a, b Made) int { return cmp.Compare(a.File, b.File) })
	slices.Sort(m.Outdated)
	m.Outdated = slices.Compact(m.Outdated)
	err := durable.File(filepath.Join(dir, ManifestName), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(m)
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// of is the table in a file that was made.
func (m *Manifest) of(file string) (Made, bool) {
	i := slices.IndexFunc(m.Tables, func(t Made) bool { return t.File == file })
	if i < 0 {
		return Made{}, false
	}
	return m.Tables[i], true
}

// begin notes that a file is being made.
func (m *Manifest) begin(file string) {
	m.Tables = slices.DeleteFunc(slices.Clone(m.Tables), func(t Made) bool { return t.File == file })
	m.Outdated = append(m.Outdated, file)
}

// end notes that it is made.
func (m *Manifest) end(t Made) {
	m.Tables = append(m.Tables, t)
	m.Outdated = slices.DeleteFunc(m.Outdated, func(file string) bool { return file == t.File })
}

// knows reports whether a file was made by an export, or was to be.
func (m *Manifest) knows(file string) bool {
	_, ok := m.of(file)
	return ok || slices.Contains(m.Outdated, file)
}

// Check is a number of rows that was counted in another way.
type Check struct {
	Of      string `json:"of"`      // what was counted
	Counted int64  `json:"counted"` // how many
	Rows    int64  `json:"rows"`    // those of the table, and what has none by a reason that was told
}

// Agrees reports whether both are the same.
func (c *Check) Agrees() bool { return c == nil || c.Counted == c.Rows }

// countIndex counts the lines of the indexes as bytes. That of a crawl that goes on has more by then.
func countIndex(ctx context.Context, in *Inputs, out *Out) (*Check, error) {
	c := &Check{Of: "lines of the index", Rows: out.Rows + out.Lefts[badLine] + out.Lefts[sameLine]}
	for _, crawl := range in.Crawls {
		if crawl.Entries >= 0 {
			return nil, nil
		}
		for _, path := range crawl.index {
			n, err := countLines(ctx, path)
			if err != nil {
				return nil, err
			}
			c.Counted += n
		}
	}
	return c, nil
}

// countLines counts the lines of a file: newlines, and what follows the last one, if that is a sorted index.
func countLines(ctx context.Context, path string) (n int64, err error) {
	f, err := durable.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it was completed meanwhile, by a crawl that has begun since
	}
	if err != nil {
		return 0, fmt.Errorf("export: %w", err)
	}
	defer f.Close()
	b, last := make([]byte, 64<<10), byte('\n')
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		size, err := f.Read(b)
		n += int64(bytes.Count(b[:size], []byte("\n")))
		if size > 0 {
			last = b[size-1]
		}
		if errors.Is(err, io.EOF) {
			if last != '\n' && filepath.Ext(path) == indexEnd {
				n++
			}
			return n, nil
		}
		if err != nil {
			return 0, fmt.Errorf("export: %w", err)
		}
	}
}

// countLedger counts the lines of the ledgers without reading what they say. What cannot be decompressed cannot be
// counted.
func countLedger(ctx context.Context, in *Inputs, out *Out) (*Check, error) {
	c := &Check{Of: "lines of the ledger", Rows: out.Rows + out.Lefts[wrongLine]}
	for _, crawl := range in.Crawls {
		for l, err := range ledger.Texts(filepath.Join(crawl.Dir, crawldir.LedgerName)) {
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				return nil, nil //nolint:nilerr // the rows say what is lost
			case crawl.upto() < 0 || l.Index < crawl.upto():
				c.Counted++
			}
		}
	}
	return c, nil
}
