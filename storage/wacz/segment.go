package wacz

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage/answer"
	"curtsy/storage/mediatype"
	"curtsy/storage/warc"
)

// segment is a file of the archive, as it is packed.
type segment struct {
	path, name string
	print      print
	cuts       []cut  // records left out, in their order
	whole      string // hex SHA-256 of the file as it is, when there are cuts

	records, entries int64  // of responses and revisits that stay; lines of the index that name the segment
	sum, indexed     uint64 // fingerprints of where the former and the latter say that records stand
}

// cut is a member that is left out.
type cut struct{ offset, length, before int64 } // before: the lengths of this and all earlier cuts

// leaveOut cuts the member at an offset behind all earlier cuts.
func (s *segment) leaveOut(offset, length int64) {
	before := length
	if n := len(s.cuts); n > 0 {
		before += s.cuts[n-1].before
	}
	s.cuts = append(s.cuts, cut{offset, length, before})
}

// shift returns where a member at an offset of the file stands in what is packed, and false for one that is cut.
func (s *segment) shift(offset int64) (int64, bool) {
	i, cut := slices.BinarySearchFunc(s.cuts, offset, func(c cut, at int64) int { return cmp.Compare(c.offset, at) })
	switch {
	case cut:
		return 0, false
	case i == 0:
		return offset, true
	}
	return offset - s.cuts[i-1].before, true
}

// open returns what is packed of the segment.
func (s *segment) open() (io.Reader, io.Closer, error) {
	f, err := durable.Open(s.path)
	if err != nil {
		return nil, nil, fmt.Errorf("wacz: %w", err)
	}
	if len(s.cuts) == 0 {
		return f, f, nil
	}
	var parts []io.Reader
	at := int64(0)
	for _, c := range s.cuts {
		parts = append(parts, io.NewSectionReader(f, at, c.offset-at))
		at = c.offset + c.length
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("wacz: %w", err)
	}
	parts = append(parts, io.NewSectionReader(f, at, fi.Size()-at))
	return io.MultiReader(parts...), f, nil
}

// measure computes the print of a segment with cuts.
func (s *segment) measure(ctx context.Context) error {
	r, c, err := s.open()
	if err != nil {
		return err
	}
	defer c.Close()
	m := newMeter()
	if _, err := copyAll(ctx, m, r); err != nil {
		return fmt.Errorf("wacz: read %s: %w", s.path, err)
	}
	s.print = m.print()
	return nil
}

// plainName reports whether a name, with slashes, means the same everywhere and leads nowhere else.
func plainName(name string) bool {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.Trim(part, safe) != "" {
			return false
		}
	}
	return true
}

func newSegment(path string) (*segment, error) {
	name := filepath.Base(path)
	// Spec, archive: files that are GZIP encoded must use the extension .warc.gz.
	if !plainName(name) || !strings.HasSuffix(name, ".warc.gz") {
		return nil, fmt.Errorf("wacz: %q cannot be packed: the name of a segment is letters, digits, dots and dashes, and ends in .warc.gz", name)
	}
	return &segment{path: path, name: name}, nil
}

// print is the size and the digests of an entry.
type print struct {
	size int64
	sum  [sha256.Size]byte
	crc  uint32
}

// meter computes the print of what is written to it.
type meter struct {
	size int64
	sum  hash.Hash
	crc  hash.Hash32
}

func newMeter() *meter { return &meter{sum: sha256.New(), crc: crc32.NewIEEE()} }

func (m *meter) Write(p []byte) (int, error) {
	m.size += int64(len(p))
	m.sum.Write(p) //nolint:errcheck // a hash never fails
	m.crc.Write(p) //nolint:errcheck // a hash never fails
	return len(p), nil
}

func (m *meter) print() print {
	return print{m.size, [sha256.Size]byte(m.sum.Sum(nil)), m.crc.Sum32()}
}

// copyAll is io.Copy that ends with ctx.
func copyAll(ctx context.Context, w io.Writer, r io.Reader) (n int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		m, err := io.CopyN(w, r, 1<<20)
		if n += m; errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// place is the fingerprint of where a record stands; sums of them tell sets of records apart, whatever their order.
func place(offset, length int64) uint64 {
	x := uint64(offset)*0x9e3779b97f4a7c15 ^ uint64(length)
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// maxBlock is how much of a block is read for its title.
const maxBlock = 1 << 20

// readAnswer reads what a response or revisit record says, as far as the list of pages needs it.
func (s *survey) readAnswer(rec *warc.Record) (*answered, error) {
	a := &answered{id: rec.ID(), offset: rec.Offset}
	_, a.unkept = s.unkept[a.id]
	uri := rec.TargetURI()
	a.indexed = uri != ""
	got, err := answer.Read(rec, maxBlock)
	if err != nil {
		return nil, err
	}
	// Without a whole head, all may be body from the first byte on; at worst, more is left out.
	a.body = got.Revisit || !got.Complete || rec.Length > got.Head
	web := strings.HasPrefix(uri, "http:") || strings.HasPrefix(uri, "https:")
	if got.Undated != nil || !web || got.Status != http.StatusOK || !a.body || a.unkept {
		return a, nil // no page
	}
	_, seed := s.seeds[a.id]
	p := &page{ID: strings.TrimPrefix(a.id, "urn:uuid:"), URL: uri, Time: stamp(got.Date), Seed: seed}
	media := got.Type()
	if got.Revisit {
		title, known := s.titles.of(got.Digest)
		if media.IsHTML() || media.Unnamed() && known {
			p.Title, a.page = title, p
		}
		return a, nil
	}
	body := bodyOf(got)
	head, _ := body.Peek(mediatype.MaxSniff)
	if !media.IsPage(head) {
		return a, nil
	}
	p.Size, p.Title, a.page = rec.Length, titleOf(body, got.Charset(head)), p
	s.titles.keep(got.Digest, p.Title)
	return a, nil
}

// bodyOf reads what stands in the first bytes of an answer, its codings undone. A body that cannot be read counts as
// empty.
func bodyOf(a *answer.Answer) *bufio.Reader {
	body, err := a.Body(maxDecoded)
	if err != nil {
		body = strings.NewReader("")
	}
	return bufio.NewReaderSize(body, 4<<10)
}
