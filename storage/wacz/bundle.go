package wacz

import (
	"archive/zip"
	"compress/flate"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
	"time"

	"curtsy/frontier/durable"
	told "curtsy/frontier/durable/meter"
	"curtsy/storage/spool"
)

// resource is a file in the manifest.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// bundle writes the ZIP file.
type bundle struct {
	zip       *zip.Writer
	when      time.Time
	dir       string // of temporary files
	plain     int64  // bytes of an index that is not made ZipNum
	resources []resource
	names     map[string]bool
}

func newBundle(w io.Writer, when time.Time, dir string) *bundle {
	// The dates of a ZIP file begin in 1980.
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); when.Before(first) || when.Year() > 2107 {
		when = first
	}
	return &bundle{zip: zip.NewWriter(w), when: when, dir: dir, plain: maxPlain, names: map[string]bool{}}
}

// all writes everything but the manifest and what signs it.
func (b *bundle) all(ctx context.Context, s *survey, index *spool.Spool, files []File) error {
	for _, seg := range s.segments {
		r, c, err := seg.open()
		if err != nil {
			return err
		}
		err = b.stored(ctx, "archive/"+seg.name, seg.print, told.Reader(ctx, r))
		c.Close()
		if err != nil {
			return err
		}
	}
	if err := b.index(ctx, index); err != nil {
		return err
	}
	if err := b.gathered(ctx, "pages/pages.jsonl", s.pages.spool); err != nil {
		return err
	}
	if s.extra.n > 0 {
		if err := b.gathered(ctx, "pages/extraPages.jsonl", s.extra.spool); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := b.file(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// index writes the index, plain or as ZipNum.
func (b *bundle) index(ctx context.Context, index *spool.Spool) (err error) {
	if index.Size() <= b.plain {
		return b.gathered(ctx, "indexes/index.cdxj", index)
	}
	blocks := newSpool(b.dir)
	defer blocks.Close() //nolint:errcheck // a temporary file
	heads := newSpool(b.dir)
	defer heads.Close() //nolint:errcheck // a temporary file
	if err := zipNum(ctx, index.Section(), blocks, heads); err != nil {
		return fmt.Errorf("wacz: compress the index: %w", err)
	}
	// Spec, Zip Compression: what is compressed already is stored.
	if err := b.gathered(ctx, "indexes/index.cdx.gz", blocks); err != nil {
		return err
	}
	return b.gathered(ctx, "indexes/index.idx", heads)
}

// newSpool gathers what may not be small.
func newSpool(dir string) *spool.Spool { return &spool.Spool{Dir: dir, Pattern: "wacz.*.spool"} }

// gathered writes what a spool holds.
func (b *bundle) gathered(ctx context.Context, name string, s *spool.Spool) error {
	return b.add(ctx, name, func() (io.Reader, error) { return s.Section(), nil })
}

// file writes a file of the caller's.
func (b *bundle) file(ctx context.Context, f File) error {
	top, _, ok := strings.Cut(f.Name, "/")
	// Spec, Other files and directories: nothing of one's own in the folders that the format has.
	if !plainName(f.Name) || ok && (top == "archive" || top == "indexes" || top == "pages") || !ok {
		return fmt.Errorf("wacz: %q cannot be the name of a further file: it needs its own folder and plain letters",
			f.Name)
	}
	in, err := durable.Open(f.Path)
	if err != nil {
		return fmt.Errorf("wacz: %w", err)
	}
	defer in.Close()
	return b.add(ctx, f.Name, func() (io.Reader, error) {
		_, err := in.Seek(0, io.SeekStart)
		return in, err
	})
}

// packed is what is compressed already, by the end of its name.
func packed(name string) bool {
	switch path.Ext(name) {
	case ".gz", ".zst", ".png":
		return true
	}
	return false
}

// add writes an entry, compressed unless it is already. open gives its bytes from the beginning, as often as asked.
func (b *bundle) add(ctx context.Context, name string, open func() (io.Reader, error)) error {
	r, err := open()
	if err != nil {
		return fmt.Errorf("wacz: pack %s: %w", name, err)
	}
	m := newMeter()
	if packed(name) {
		if _, err := copyAll(ctx, m, r); err != nil {
			return fmt.Errorf("wacz: pack %s: %w", name, err)
		}
		if r, err = open(); err != nil {
			return fmt.Errorf("wacz: pack %s: %w", name, err)
		}
		return b.stored(ctx, name, m.print(), r)
	}
	small := newSpool(b.dir)
	defer small.Close() //nolint:errcheck // a temporary file
	z, err := flate.NewWriter(small, flate.DefaultCompression)
	if err == nil {
		if _, err = copyAll(ctx, io.MultiWriter(m, z), r); err == nil {
			err = z.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("wacz: pack %s: %w", name, err)
	}
	return b.raw(ctx, name, zip.Deflate, m.print(), small.Size(), small.Section())
}

// stored writes an entry as it is. Its bytes must be those that the print was made of.
func (b *bundle) stored(ctx context.Context, name string, p print, r io.Reader) error {
	m := newMeter()
	if err := b.raw(ctx, name, zip.Store, p, p.size, io.TeeReader(r, m)); err != nil {
		return err
	}
	if m.print() != p {
		return fmt.Errorf("wacz: pack %s: it changed while it was read; run the command again when nothing writes to it",
			name)
	}
	return nil
}

// raw writes an entry whose size and checksum are known, and notes it for the manifest.
func (b *bundle) raw(ctx context.Context, name string, method uint16, p print, size int64, r io.Reader) error {
	if b.names[name] {
		return fmt.Errorf("wacz: pack %s: there are two of that name", name)
	}
	b.names[name] = true
	h := &zip.FileHeader{
		Name: name, Method: method, CRC32: p.crc, CompressedSize64: uint64(size), UncompressedSize64: uint64(p.size),
		CreatorVersion: 20, ReaderVersion: 20,
	}
	if max(size, p.size) >= math.MaxUint32 {
		h.Flags |= 0x8 // a 64-bit descriptor behind the data: the head in front of it has no room
		h.ReaderVersion = 45
	}
	h.SetModTime(b.when) //nolint:staticcheck // CreateRaw looks at no other date
	w, err := b.zip.CreateRaw(h)
	if err != nil {
		return fmt.Errorf("wacz: pack %s: %w", name, err)
	}
	n, err := copyAll(ctx, w, r)
	if err != nil {
		return fmt.Errorf("wacz: pack %s: %w", name, err)
	}
	if n != size {
		return fmt.Errorf("wacz: pack %s: it changed while it was read; run the command again when nothing writes to it",
			name)
	}
	b.resources = append(b.resources,
		resource{resourceName(name), name, "sha256:" + hex.EncodeToString(p.sum[:]), p.size})
	return nil
}

// resourceName is what a file is called in the manifest, where names are unique (Data Resource): by its last part, or by
// all of them where it lies deeper, as the tiles of a ledger do.
func resourceName(file string) string {
	if strings.Count(file, "/") > 1 {
		return strings.ToLower(strings.ReplaceAll(file, "/", "-"))
	}
	return strings.ToLower(path.Base(file))
}
