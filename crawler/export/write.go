package export

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"curtsy/frontier/durable"
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
