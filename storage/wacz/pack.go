package wacz

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage"
)

// Options say what to pack. Segments and Index are required.
type Options struct {
	// Segments are the paths of complete WARC segments, one gzip member for each record, in the order of the crawl.
	Segments []string
	// Index are the lines of the CDXJ index of the segments, sorted and without newlines, with file names without folders.
	Index iter.Seq2[[]byte, error]
	// Lines are the ledger's lines. Nil means that the metadata records alone say what is a seed and what asks not to be
	// archived. An error among them ends the packing.
	Lines iter.Seq2[storage.Line, error]
	// Files are further files: those of the ledger, reports.
	Files []File

	Title       string // empty means one made of the first page's host
	Description string // Markdown
	Software    string // "curtsy"
	Version     string // "0.1.0"

	// LeftOut are sentences about what of the crawl is not in the file, for the manifest.
	LeftOut []string

	// PlainIndex is the size in bytes up to which the index is one plain file. Zero means 2 MiB; above, it is ZipNum.
	PlainIndex int64

	// Key is the ledger's key. Nil means a file without signatures.
	Key ed25519.PrivateKey
	// Rotations are the notes of the rotations that led to Key: the ledger may be signed by a key before it.
	Rotations [][]byte

	// TempDir is where lists and indexes are gathered. Empty means the system's.
	TempDir string
}

// File is a file that is packed as it is.
type File struct {
	Name string // in the WACZ, with slashes: "ledger/000001.jsonl"
	Path string
}

// Result says what was packed.
type Result struct {
	Pages     int64     // listed
	Records   int64     // of responses and revisits, in the index
	NoArchive int64     // records left out, because their pages ask not to be archived
	Elsewhere int64     // of those, revisits of what an earlier crawl archived, which is not in the file
	Octets    int64     // of the segments, as packed
	Created   time.Time // the date of the file: the last one of archive and ledger
	Hash      string    // "sha256:…" of datapackage.json
}

// ErrExists is what Create returns, wrapped, when there is a file of that name.
var ErrExists = errors.New("the file exists")

// Create packs into a new file, whole and durable or not at all.
func Create(ctx context.Context, path string, o Options) (r Result, err error) {
	if _, err := os.Lstat(path); err == nil {
		return r, fmt.Errorf("wacz: create %s: %w", path, ErrExists)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("wacz: create: %w", err)
	}
	if o.TempDir == "" {
		o.TempDir = filepath.Dir(path) // what is gathered is as large as the lists; the system's folder may be memory
	}
	err = durable.Output(path, func(w io.Writer) (err error) {
		r, err = Write(ctx, w, o)
		return err
	})
	if err != nil {
		return r, fmt.Errorf("wacz: create: %w", err)
	}
	return r, nil
}

// Write packs to w, which sees every byte once, in order.
func Write(ctx context.Context, w io.Writer, o Options) (_ Result, err error) {
	if len(o.Segments) == 0 {
		return Result{}, errors.New("wacz: pack: no segment of an archive")
	}
	s, err := newSurvey(o)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.readLines(ctx, o.Lines); err != nil {
		return Result{}, err
	}
	for _, path := range o.Segments {
		if err := s.readSegment(ctx, path); err != nil {
			return Result{}, err
		}
	}
	index, err := s.readIndex(ctx, o.Index)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	b := newBundle(w, s.last, o.TempDir)
	if o.PlainIndex > 0 {
		b.plain = o.PlainIndex
	}
	if err := b.all(ctx, s, index, o.Files); err != nil {
		return Result{}, err
	}
	r := Result{Pages: s.pages.n + s.extra.n, Records: s.records, NoArchive: s.noArchive, Elsewhere: s.elsewhere,
		Octets: s.octets, Created: s.last}
	if r.Hash, err = b.manifest(ctx, manifestOf(o, s)); err != nil {
		return Result{}, err
	}
	if err := b.digest(ctx, r.Hash, o); err != nil {
		return Result{}, err
	}
	if err := b.zip.Close(); err != nil {
		return Result{}, fmt.Errorf("wacz: pack: %w", err)
	}
	return r, nil
}
