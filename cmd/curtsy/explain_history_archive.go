package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/warc"
)

// archive finds records in the archive of a crawl.
type archive struct{ dir string }

func digestOf(body []byte) [32]byte { return sha256.Sum256(body) }

// exchange is the exchange of a line for robots.txt, as its record has it.
func (a archive) exchange(l storage.Line) (robots.Exchange, error) {
	ex := robots.Exchange{URL: l.URL}
	if failed := failureOf(l); failed != "" {
		ex.Failure, ex.Status = failed, l.Status
		return ex, nil
	}
	if l.Record == "" {
		return ex, errors.New("the ledger names no record")
	}
	rec, closer, err := a.find(l)
	if err != nil {
		return ex, err
	}
	defer closer.Close() // only read
	archived, err := answer.Read(rec, 0)
	if err != nil {
		return ex, err
	}
	ex.Status, ex.Header = archived.Status, archived.Header
	ex.Oversize = l.Truncated == "length"
	body, err := archived.Body(robots.MaxBody + 1)
	if err != nil {
		ex.Failure = storage.ReasonCoding
		return ex, nil //nolint:nilerr // what cannot be decoded cannot be read: that is what the gate made of it, too
	}
	ex.Body, err = io.ReadAll(body)
	switch {
	case errors.Is(err, warc.ErrTooLarge):
		ex.Oversize = true
	case err != nil && l.Truncated == "":
		ex.Failure = storage.ReasonCoding
	}
	return ex, nil
}

// failureOf is why an exchange for robots.txt brought no answer; empty when it did.
func failureOf(l storage.Line) string {
	if l.Reason == "" || strings.HasPrefix(l.Reason, "status ") {
		return ""
	}
	return l.Reason
}

// find opens the record of a line: where the index says that it is, or by looking through the archive.
func (a archive) find(l storage.Line) (*warc.Record, io.Closer, error) {
	if files, err := cdxj.Files(filepath.Join(a.dir, crawldir.IndexName)); err == nil {
		for c, err := range cdxj.Lookup(files, l.URL) {
			if err != nil {
				break // the archive itself does not lie
			}
			if d := c.Time.Sub(l.Began); d < -2*time.Second || d > 2*time.Second {
				continue
			}
			if rec, closer, err := a.at(c.Filename, c.Offset, l.Record); err == nil {
				return rec, closer, nil
			}
		}
	}
	files, err := crawldir.Entries(filepath.Join(a.dir, crawldir.ArchiveName), "", ".warc.gz")
	if err != nil {
		return nil, nil, err
	}
	for _, path := range files {
		if offset, err := offsetOf(path, l.Record); err == nil {
			return a.at(filepath.Base(path), offset, l.Record)
		}
	}
	return nil, nil, fmt.Errorf("the archive has no record %s", l.Record)
}

// offsetOf looks through a file for the record with an id.
func offsetOf(path, id string) (int64, error) {
	l, f, err := warc.LenientAt(path, 0, nil)
	if err != nil {
		return 0, err
	}
	defer f.Close() // only read
	for {
		r, err := l.Next()
		if err != nil {
			return 0, err
		}
		if r.ID() == id {
			return r.Offset, nil
		}
	}
}

// at opens the record with an id at an offset of a file, which may be the one that is still written.
func (a archive) at(name string, offset int64, id string) (*warc.Record, io.Closer, error) {
	if name != filepath.Base(name) {
		return nil, nil, fmt.Errorf("%q is not a file name", name)
	}
	path := filepath.Join(a.dir, crawldir.ArchiveName, name)
	rec, closer, err := warc.ReadAt(path, offset)
	if err != nil {
		return nil, nil, err
	}
	if rec.ID() != id {
		closer.Close() // only read
		return nil, nil, fmt.Errorf("%s has another record at offset %d", path, offset)
	}
	return rec, closer, nil
}
