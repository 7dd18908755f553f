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

// Options configure an export.
type Options struct {
	Dir       string // output folder; created if missing
	Format    sink.Format
	Sources   []Source
	Sink      sink.Options
	Overwrite bool        // also remake tables of the same inputs
	Done      func(*Made) // called after each table; may be nil
	// Progress is called every few thousand rows with their number so far; may be nil.
	Progress func(table string, rows int64)
}

// ErrOthers means that a file to write exists that no export made.
var ErrOthers = errors.New("export: a file is in the way that no export made")

// Write makes a file for each table that the manifest lacks for these inputs and options, and returns the new manifest.
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
	case before.Version == m.Version && before.Software == m.Software && before.Identity == m.Identity && !o.Overwrite:
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
		if o.Done != nil {
			o.Done(made)
		}
	}
	return m, nil
}

func (o *Options) file(table string) string { return table + o.Format.Ext() }

// mayReplace refuses to overwrite a file that the manifest does not name.
func (o *Options) mayReplace(table string, before *Manifest) error {
	path := filepath.Join(o.Dir, o.file(table))
	if _, err := os.Lstat(path); err != nil {
		return nil //nolint:nilerr // it is missing, or the sink reports the error
	}
	if before != nil {
		if _, ok := before.of(o.file(table)); ok || slices.Contains(before.Outdated, o.file(table)) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrOthers, path)
}

// table makes a table unless it exists, and adds it to the manifest.
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
	m.Tables = slices.DeleteFunc(slices.Clone(m.Tables), func(t Made) bool { return t.File == name })
	m.Outdated = append(m.Outdated, name)
	if err := m.write(o.Dir); err != nil { // before the file can have its name
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
	m.Tables = append(m.Tables, made)
	m.Outdated = slices.DeleteFunc(m.Outdated, func(file string) bool { return file == name })
	return &made, m.write(o.Dir)
}

const often = 1 << 12 // rows between calls of Progress

func (o *Options) rows(ctx context.Context, in *Inputs, s Source, path string) (*Out, error) {
	w, err := sink.Create(o.Format, path, s.Table, o.Sink)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	defer w.Abort()
	n := int64(0)
	out := NewOut(s.Table, func(r tables.Row) error {
		if n++; n%often == 0 && o.Progress != nil {
			o.Progress(s.Table.Name, n)
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

// ManifestName is the name of the manifest in an export's folder.
const ManifestName = "export.json"

// Version is the version of the manifest and of the meaning of tables. An export replaces tables of other versions.
const Version = 1

// Manifest lists the tables and their sources.
type Manifest struct {
	Version  int     `json:"version"`
	Software string  `json:"software"`
	Inputs   []Input `json:"inputs"`
	Identity string  `json:"identity"` // SHA-256 of the inputs
	Tables   []Made  `json:"tables"`
	// Outdated are files of other inputs, or unfinished ones.
	Outdated []string `json:"outdated,omitempty"`
}

// Input is a crawl.
type Input struct {
	Crawl  string `json:"crawl"`            // its name in the tables
	Origin string `json:"origin,omitempty"` // of its ledger
	Head   string `json:"head,omitempty"`   // SIZE:ROOT of the checkpoint
	Upto   int64  `json:"entries"`          // ledger entries read; -1 for all
	Files  []File `json:"files"`
}

// File is a file of archive, index or ledger.
type File struct {
	Name   string `json:"name"` // relative to the crawl directory
	Octets int64  `json:"octets"`
	// SHA256 is from the ledger's mark of the file. Without a mark it is empty, and Time is that of the last change.
	SHA256 string `json:"sha256,omitempty"`
	Time   string `json:"time,omitempty"`
}

// Made is a finished table.
type Made struct {
	Table    string           `json:"table"`
	File     string           `json:"file"`
	Options  string           `json:"options,omitempty"` // those that affect the content
	Rows     int64            `json:"rows"`
	Octets   int64            `json:"octets"`
	SHA256   string           `json:"sha256"`
	Seconds  float64          `json:"seconds"`
	LeftOut  map[string]int64 `json:"left_out,omitempty"` // entries without a row, by reason
	Problems map[string]int64 `json:"problems,omitempty"` // rows that lack values, by problem
	Notes    map[string]int64 `json:"notes,omitempty"`    // rows by how they were made, if that varies
	Check    *Check           `json:"check,omitempty"`    // nil if there is no second count
	Again    bool             `json:"-"`                  // an earlier export made it
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
	if c.Entries >= 0 { // a running crawl: the checkpoint identifies its lines
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

// marked returns the digests of finished files in the ledger, the last one of each.
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
		return nil // a journal whose segment was completed meanwhile
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

const maxManifest = 64 << 20 // bytes

// ReadManifest reads the manifest in a folder; nil without one.
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

// Check compares the number of rows with an independent count.
type Check struct {
	Of      string `json:"of"` // the counted entries
	Counted int64  `json:"counted"`
	Rows    int64  `json:"rows"` // of the table, and those left out for counted reasons
}

// Agrees reports whether both counts are equal.
func (c *Check) Agrees() bool { return c == nil || c.Counted == c.Rows }

// countIndex counts the lines of the indexes as bytes. The index of a running crawl may have grown.
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

// countLines counts newlines, and in a sorted index also an unterminated last line.
func countLines(ctx context.Context, path string) (n int64, err error) {
	f, err := durable.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // a run has completed the segment meanwhile
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

// countLedger counts the lines of the ledgers without parsing them, unless they cannot be decompressed.
func countLedger(ctx context.Context, in *Inputs, out *Out) (*Check, error) {
	c := &Check{Of: "lines of the ledger", Rows: out.Rows + out.Lefts[wrongLine]}
	for _, crawl := range in.Crawls {
		for l, err := range ledger.Texts(filepath.Join(crawl.Dir, crawldir.LedgerName)) {
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				return nil, nil //nolint:nilerr // the rows report the loss
			case crawl.upto() < 0 || l.Index < crawl.upto():
				c.Counted++
			}
		}
	}
	return c, nil
}

// Source is a table with the function that makes its rows.
type Source struct {
	Table *tables.Table
	Asked bool // made only if requested by name
	// Rows passes all rows to out, in the order of the table's key.
	Rows func(ctx context.Context, in *Inputs, out *Out) error
	// Count counts the expected rows independently. Nil, or a nil Check, means that it is impossible.
	Count func(ctx context.Context, in *Inputs, out *Out) (*Check, error)
}

// Sources returns all sources in the order of an export.
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

// Out receives the rows of a table. It belongs to one goroutine.
type Out struct {
	Rows     int64            // received
	Lefts    map[string]int64 // entries without a row, by reason
	Problems map[string]int64 // rows that lack values, by problem
	Notes    map[string]int64 // rows by how they were made, if that varies

	table   *tables.Table
	problem int // column with the problem, or -1
	to      func(tables.Row) error
}

// NewOut returns an Out that passes the rows of a table to to.
func NewOut(t *tables.Table, to func(tables.Row) error) *Out {
	return &Out{table: t, problem: t.Index("problem"), to: to, Lefts: map[string]int64{}, Problems: map[string]int64{}, Notes: map[string]int64{}}
}

// Row passes on a row. It cuts values beyond the bounds, and marks such a row as cut.
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

// Left counts entries without a row. There are few reasons: constants, or words of a format.
func (o *Out) Left(reason string, n int64) {
	if n > 0 {
		o.Lefts[reason] += n
	}
}

// Note counts rows, or their parts, by how they were made.
func (o *Out) Note(how string, n int64) {
	if n > 0 {
		o.Notes[how] += n
	}
}

// row is a row of a table, set by the names of columns; others are null.
type row struct {
	*filler
	r tables.Row
}

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

// set sets a column, and panics for an unknown one.
func (r row) set(name string, v tables.Value) {
	i, ok := r.at[name]
	if !ok {
		panic("export: the table " + r.table.Name + " has no column " + name)
	}
	r.r[i] = v
}

// Bounds of a row, because formats hold values several times over. Only hostile pages or ledgers reach them.
const (
	maxValue = 2 << 20 // bytes of a string, or of all strings of a list: as many as a text has
	maxRow   = 8 << 20 // bytes of all values together
)

// ProblemCut means that a value exceeds 2 MiB, or a row 8 MiB, and has only its beginning.
const ProblemCut = "cut"

// bounded returns r with values within the bounds. It does not change r.
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

// beginning returns up to most bytes of s, and no partial character.
func beginning(s string, most int) string {
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// firstOf returns the first strings of a list with at most most bytes in all, and their size.
func firstOf(list []string, most int) (first []string, size int) {
	for i, s := range list {
		if size+len(s)+perString > most {
			return slices.Clone(list[:i]), size
		}
		size += len(s) + perString
	}
	return list, size
}

const perString = 8 // overhead of a string in a list, even an empty one

func sizeOf(v tables.Value) int {
	size := len(v.Text())
	for _, s := range v.List() {
		size += len(s) + perString
	}
	return size
}
