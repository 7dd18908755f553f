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
	"unicode/utf8"

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

func (m *Manifest) of(file string) (Made, bool) {
	i := slices.IndexFunc(m.Tables, func(t Made) bool { return t.File == file })
	if i < 0 {
		return Made{}, false
	}
	return m.Tables[i], true
}

func (m *Manifest) begin(file string) {
	m.Tables = slices.DeleteFunc(slices.Clone(m.Tables), func(t Made) bool { return t.File == file })
	m.Outdated = append(m.Outdated, file)
}

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

// Source is a table and what makes its rows.
type Source struct {
	Table *tables.Table
	Asked bool // it is made only if it is asked for by name
	// Rows gives all rows to out, in the order of the table's key.
	Rows func(ctx context.Context, in *Inputs, out *Out) error
	// Count counts in another way how many rows there must be. Nil, or a nil Check, says that there is no other way.
	Count func(ctx context.Context, in *Inputs, out *Out) (*Check, error)
}

// Sources are all that there are, in the order in which they are made.
func Sources() []Source {
	return []Source{
		{Table: &tables.Pages, Rows: pages, Count: countIndex},
		{Table: &tables.Reading, Rows: texts},
		{Table: &tables.Links, Rows: mentions},
		{Table: &tables.Duplicates, Rows: duplicates},
		{Table: &tables.Robots, Rows: robotsVersions},
		{Table: &tables.Decisions, Rows: decisions, Count: countLedger},
		{Table: &tables.Hosts, Rows: hosts},
		{Table: &tables.Errors, Rows: failures},
		{Table: &tables.Headers, Asked: true, Rows: headers},
	}
}

// Out takes the rows of a table. It belongs to one goroutine.
type Out struct {
	Rows     int64            // that were taken
	Lefts    map[string]int64 // what has no row, by its reason
	Problems map[string]int64 // rows that lack values, by what they say is amiss
	Notes    map[string]int64 // how they were made, if that can be in several ways

	table   *tables.Table
	problem int // the column that says what is amiss, or -1
	to      func(tables.Row) error
}

// NewOut gives the rows of a table to to.
func NewOut(t *tables.Table, to func(tables.Row) error) *Out {
	return &Out{table: t, problem: t.Index("problem"), to: to, Lefts: map[string]int64{}, Problems: map[string]int64{}, Notes: map[string]int64{}}
}

// Row hands on a row, of which it cuts what is over the bounds, and says so.
func (o *Out) Row(r tables.Row) error {
	r, cut := bounded(r)
	if cut && o.problem >= 0 && r[o.problem].IsNull() {
		r[o.problem] = tables.Text(ProblemCut)
	}
	if err := o.to(r); err != nil {
		return fmt.Errorf("export: row %d: %w", o.Rows+1, err)
	}
	o.Rows++
	switch {
	case o.problem >= 0 && !r[o.problem].IsNull():
		o.Problems[r[o.problem].Text()]++
	case cut:
		o.Problems[ProblemCut]++
	}
	return nil
}

// Left counts what has no row. Reasons are few: a constant, or a word of a format.
func (o *Out) Left(reason string, n int64) {
	if n > 0 {
		o.Lefts[reason] += n
	}
}

// Note counts rows, or what they are made of, by how that was done.
func (o *Out) Note(how string, n int64) {
	if n > 0 {
		o.Notes[how] += n
	}
}

// row is a row of a table that is filled in by the names of its columns; what is not named is null.
type row struct {
	*filler
	r tables.Row
}

// filler makes rows of one table.
type filler struct {
	table *tables.Table
	at    map[string]int
	null  tables.Row
}

func newFiller(t *tables.Table) *filler {
	f := &filler{table: t, at: make(map[string]int, len(t.Columns)), null: make(tables.Row, len(t.Columns))}
	for i := range t.Columns {
		f.at[t.Columns[i].Name], f.null[i] = i, tables.Null()
	}
	return f
}

func (f *filler) row() row {
	return row{f, append(make(tables.Row, 0, len(f.null)), f.null...)}
}

// set sets a column. One that the table has not is a defect of ours.
func (r row) set(name string, v tables.Value) {
	i, ok := r.at[name]
	if !ok {
		panic("export: the table " + r.table.Name + " has no column " + name)
	}
	r.r[i] = v
}

// Bounds of a row. A format holds a value several times over, Parquet seven times, before it is in the file. No table
// made of a crawl comes near: what a page or a ledger of somebody else's can hold may.
const (
	maxValue = 2 << 20 // bytes of a string, or of all strings of a list: as many as a text has
	maxRow   = 8 << 20 // bytes of all values together
)

// ProblemCut says that a value is over 2 MiB, or a row over 8 MiB: what stands there is the beginning.
const ProblemCut = "cut"

// bounded is r with values that are not longer than they may be. r stays as it is.
func bounded(r tables.Row) (short tables.Row, cut bool) {
	room := maxRow
	for i, v := range r {
		if v.IsNull() {
			continue
		}
		most := min(maxValue, room)
		var size int
		switch v.Kind() {
		case tables.String:
			if size = len(v.Text()); size > most {
				v = tables.Text(beginning(v.Text(), most))
				size = len(v.Text())
			}
		case tables.List:
			var list []string
			if list, size = firstOf(v.List(), most); len(list) < len(v.List()) {
				v = tables.Texts(list)
			}
		}
		room -= size
		if size == sizeOf(r[i]) {
			continue
		}
		if !cut {
			r, cut = slices.Clone(r), true
		}
		r[i] = v
	}
	return r, cut
}

// beginning is as much of s, up to most bytes, as ends with a whole character.
func beginning(s string, most int) string {
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// firstOf is as much of a list as has at most so many bytes, and how many it has. A string is there whole or not at all.
func firstOf(list []string, most int) (first []string, size int) {
	for i, s := range list {
		if size+len(s)+perString > most {
			return slices.Clone(list[:i]), size
		}
		size += len(s) + perString
	}
	return list, size
}

// perString is what a string of a list costs beside its bytes: lists of empty strings are not free.
const perString = 8

func sizeOf(v tables.Value) int {
	size := len(v.Text())
	for _, s := range v.List() {
		size += len(s) + perString
	}
	return size
}
