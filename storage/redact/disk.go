package redact

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"curtsy/frontier/durable"
)

// The names in a crawl directory.
const (
	JournalName  = "forget.journal" // what is to be done, until it is
	PreparedName = "forget.new"     // new files, until they take their places

	archiveDir    = "warc"
	indexDir      = "index"
	ledgerDir     = "ledger"
	linksDir      = "links" // excerpts of pages that earlier versions kept
	spoolDir      = "spool"
	segmentSuffix = ".warc.gz"
	indexSuffix   = ".cdxj"
)

// disk changes the files of a directory, step by step. A test breaks it off before any of them.
type disk struct {
	dir  string
	stop func(step string) error // nil in earnest
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// do does a step, unless it is broken off.
func (d *disk) do(ctx context.Context, s Step) error {
	if d.stop != nil {
		if err := d.stop(s.Name + " " + s.Where); err != nil {
			return err
		}
	}
	return s.Do(ctx)
}

// step is a step of this package, which ctx does not end.
func (d *disk) step(name, where string, do func(ctx context.Context) error) Step {
	return Step{name, where, func(ctx context.Context) error {
		if err := do(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("forget: %s %s: %w", name, d.path(where), err)
		}
		return nil
	}}
}

// now does a step of this package.
func (d *disk) now(s Step) error { return d.do(context.Background(), s) }

// write makes a file whole and durable.
func (d *disk) write(name string, f func(w io.Writer) error) error {
	return d.now(d.step("write", name, func(context.Context) error { return durable.File(d.path(name), f) }))
}

// folder makes a folder.
func (d *disk) folder(name string) error {
	return d.now(d.step("make", name, func(context.Context) error { return durable.MakeFolder(d.path(name)) }))
}

// placing gives a prepared file its place, unless it has it already.
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

// removal removes a file, or a folder with all in it, durably. A name that is not there is no error.
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

// there reports whether something has a name.
func (d *disk) there(name string) bool {
	_, err := os.Lstat(d.path(name))
	return err == nil
}
