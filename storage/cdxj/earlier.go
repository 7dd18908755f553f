package cdxj

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"curtsy/storage"
	"curtsy/storage/warc"
)

// earlier is an index of another crawl.
type earlier struct {
	path string
	f    *os.File
	base int64 // the place of its first byte in the table
	size int64
}

// parseDigest reads a SHA-256 as an index has it: base16 or base32, with or without the algorithm's name.
func parseDigest(s string) (d [32]byte, ok bool) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		s = s[i+1:]
	}
	switch len(s) {
	case 64:
		n, err := hex.Decode(d[:], []byte(s))
		return d, err == nil && n == len(d)
	case 52, 56:
		b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(strings.TrimRight(s, "=")))
		return d, err == nil && copy(d[:], b) == len(d) && len(b) == len(d)
	}
	return d, false
}

// read gives the digest of each capture that may be an original to see, and returns how many have a digest of another
// kind, and how many lines could not be read.
func (e *earlier) read(ctx context.Context, see func(digest [32]byte, at int64)) (other, bad int64, err error) {
	for in := newLines(io.NewSectionReader(e.f, 0, e.size)); ; {
		line, at, _, err := in.next()
		if errors.Is(err, io.EOF) {
			return other, bad, nil
		}
		if ctx.Err() != nil {
			return other, bad, ctx.Err()
		}
		if err != nil {
			return other, bad, fmt.Errorf("%s: %w", e.path, err)
		}
		if len(bytes.TrimSpace(line)) == 0 || line[0] == '!' || bytes.HasPrefix(line, []byte(" CDX")) {
			continue // a header
		}
		l, err := ParseLine(line)
		switch {
		case err != nil:
			bad++
			continue
		case l.Mime == revisitType || l.Digest == "" || l.Digest == "-" || l.Status != 0 && l.Status/100 != 2:
			continue
		}
		if d, ok := parseDigest(l.Digest); !ok {
			other++
		} else if d != emptyPayload && oneWord(l.URL) {
			see(d, at)
		}
	}
}

// at returns the original at a byte of the index, as the index and, if it is at hand, the WARC file have it.
func (e *earlier) at(place int64, payload [32]byte) (o storage.Original, ok bool, err error) {
	line, _, _, err := newLinesSize(io.NewSectionReader(e.f, place, e.size-place), 1<<10).next()
	if err != nil && !errors.Is(err, io.EOF) {
		return o, false, fmt.Errorf("%s: %w", e.path, err)
	}
	l, err := ParseLine(line)
	if err != nil {
		return o, false, nil // not the file that we read
	}
	if d, ok := parseDigest(l.Digest); !ok || d != payload {
		return o, false, nil
	}
	// The index knows the time to the second and no id. The record itself says more, and whether it is whole.
	for _, dir := range []string{".", "../warc", "../archive"} {
		f, err := os.Open(filepath.Join(filepath.Dir(e.path), dir, filepath.Base(l.Filename)))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return o, false, err
		}
		defer f.Close()
		return recordAt(f, l.Offset, payload)
	}
	return storage.Original{URL: l.URL, Date: l.Time}, true, nil
}

// recordAt returns the original whose record begins at an offset of a WARC file.
func recordAt(f *os.File, offset int64, payload [32]byte) (o storage.Original, ok bool, err error) {
	fi, err := f.Stat()
	if err != nil {
		return o, false, err
	}
	rec, err := warc.NewReader(io.NewSectionReader(f, offset, max(0, fi.Size()-offset))).Next()
	if err != nil {
		return o, false, nil // what cannot be read is not referred to
	}
	c, err := captureOf(rec, "")
	if err != nil || !c.original || c.Payload != payload {
		return o, false, nil
	}
	return storage.Original{URL: c.URL, Date: c.Date, ID: c.ID}, true, nil
}
