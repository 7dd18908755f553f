package export

import (
	"cmp"
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

	"curtsy/crawler/crawldir"
	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
)

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
