package redact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// disk changes the files of a directory. A test breaks it off before any of its steps.
type disk struct {
	dir  string
	step func(what string) error // nil in earnest
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// do is a step of a kind with a file, broken off or done.
func (d *disk) do(what, name string, f func() error) error {
	if d.step != nil {
		if err := d.step(what + " " + name); err != nil {
			return err
		}
	}
	if err := f(); err != nil {
		return fmt.Errorf("forget: %s %s: %w", what, d.path(name), err)
	}
	return nil
}

// print is the size and the SHA-256 of a file.
type print struct {
	octets int64
	sha256 string
}

// printOf reads a file; fs.ErrNotExist says that there is none.
func (d *disk) printOf(ctx context.Context, name string) (p print, err error) {
	f, err := durable.Open(d.path(name))
	if err != nil {
		return p, err
	}
	defer f.Close()
	h := sha256.New()
	if p.octets, err = io.Copy(h, &until{ctx, f}); err != nil {
		return p, err
	}
	p.sha256 = hex.EncodeToString(h.Sum(nil))
	return p, nil
}

// until is a reader that fails when ctx ends.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// write makes a file whole and durable.
func (d *disk) write(name string, f func(w io.Writer) error) error {
	return d.do("write", name, func() error { return durable.File(d.path(name), f) })
}

// folder makes a folder.
func (d *disk) folder(name string) error {
	return d.do("make", name, func() error { return durable.MakeFolder(d.path(name)) })
}

// place gives a prepared file its place.
func (d *disk) place(name string) error {
	from := d.path(PreparedName + "/" + name)
	return d.do("place", name, func() error {
		if err := os.Rename(from, d.path(name)); err != nil {
			return err
		}
		return durable.Names(filepath.Dir(d.path(name)))
	})
}

// remove removes a file or a folder with all in it, durably. A name that is not there is no error.
func (d *disk) remove(name string) error {
	if _, err := os.Lstat(d.path(name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.do("remove", name, func() error {
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
