package cdxj

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"strings"

	"curtsy/storage"
	"curtsy/storage/warc"
)

// oneWord reports whether s can be a word of a line.
func oneWord(s string) bool { return s != "" && whole(s) }

// segment is one of this crawl, whose records have places in the table.
type segment struct {
	file string
	base int64 // the place of a record at its beginning
}

type earlier struct {
	path string
	f    *os.File
	base int64 // the place of its first byte in the table
	size int64
}

// parseDigest parses a SHA-256 in base16 or base32, with or without the algorithm's name.
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

// originalsIn calls see with the digest, line and offset of each capture that may be an original. It returns the number
// of captures with another kind of digest, and of unreadable lines.
func originalsIn(ctx context.Context, index io.Reader, see func(digest [32]byte, l *Line, at int64)) (other, bad int64, err error) {
	for in := newLines(index); ; {
		line, at, _, err := in.next()
		if errors.Is(err, io.EOF) {
			return other, bad, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return other, bad, err
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
			see(d, &l, at)
		}
	}
}

// at returns the original at a byte of the index, from the WARC file if that is at hand.
func (e *earlier) at(place int64, payload [32]byte) (o storage.Original, ok bool, err error) {
	line, _, _, err := newLinesSize(io.NewSectionReader(e.f, place, e.size-place), 1<<10).next()
	if err != nil && !errors.Is(err, io.EOF) {
		return o, false, fmt.Errorf("%s: %w", e.path, err)
	}
	l, err := ParseLine(line)
	if err != nil {
		return o, false, nil // the file has changed
	}
	if d, ok := parseDigest(l.Digest); !ok || d != payload {
		return o, false, nil
	}
	// The record has the exact time and an id, and shows whether it is whole.
	for _, dir := range []string{".", "../warc", "../archive"} {
		o, ok, err := originalAt(filepath.Join(filepath.Dir(e.path), dir, filepath.Base(l.Filename)), os.Open, l.Offset, payload)
		if !errors.Is(err, fs.ErrNotExist) {
			return o, ok, err
		}
	}
	return storage.Original{URL: l.URL, Date: l.Time}, true, nil
}

// originalAt returns the original at an offset of a WARC file. It reads the whole record: a revisit must not refer to a
// damaged one.
func originalAt(path string, open func(path string) (*os.File, error), offset int64, payload [32]byte) (o storage.Original, ok bool, err error) {
	f, err := warc.OpenListed(path, open)
	if err != nil {
		return o, false, err
	}
	sound := true
	in, file, err := warc.LenientOf(f, path, offset, func(f warc.Finding) { sound = sound && f.Note() })
	if err != nil {
		return o, false, err
	}
	defer file.Close()
	rec, err := in.Next()
	if err != nil || rec.Offset != offset {
		return o, false, nil //nolint:nilerr // an unreadable record cannot be an original
	}
	c, err := captureOf(rec, "")
	if err != nil || !c.original || c.Payload != payload {
		return o, false, nil //nolint:nilerr // as above
	}
	if _, err := in.End(); err != nil || !sound {
		return o, false, nil //nolint:nilerr // as above
	}
	return storage.Original{URL: c.URL, Date: c.Date, ID: c.ID}, true, nil
}

// A slot has 22 bits of a hash and 42 bits of a place (plus 1: 0 is an empty slot).
const (
	shards    = 256
	tagBits   = 22
	placeBits = 64 - tagBits
	maxPlace  = 1<<placeBits - 2
)

// table finds places by a hash, in about 12 bytes each: open addressing with linear probing, 0.6 to 0.85 full. It
// stores only 30 bits of the hash, so the caller compares the record at a place. Each shard grows separately, which
// bounds delay and memory. The hash function must be keyed, or an adversary could choose colliding digests.
type table struct {
	shard [shards][]uint64
	used  [shards]int
	n     int
}

// add adds a place for a hash, known or not. It reports false if the place is too large.
func (t *table) add(hash uint64, place int64) bool {
	if place < 0 || place > maxPlace {
		return false
	}
	i := hash >> (64 - 8)
	if s := t.shard[i]; (t.used[i]+1)*20 > len(s)*17 {
		t.shard[i] = make([]uint64, len(s)+len(s)*2/5+4)
		for _, slot := range s {
			if slot != 0 {
				insert(t.shard[i], slot)
			}
		}
	}
	insert(t.shard[i], hash<<8>>(64-tagBits)<<placeBits|uint64(place+1))
	t.used[i]++
	t.n++
	return true
}

func insert(s []uint64, slot uint64) {
	i := home(s, slot>>placeBits)
	for s[i] != 0 {
		if i++; i == len(s) {
			i = 0
		}
	}
	s[i] = slot
}

func home(s []uint64, tag uint64) int {
	i, _ := bits.Mul64(tag<<placeBits, uint64(len(s)))
	return int(i)
}

// find calls see with each place whose hash may be the given one.
func (t *table) find(hash uint64, see func(place int64)) {
	s := t.shard[hash>>(64-8)]
	if len(s) == 0 {
		return
	}
	tag := hash << 8 >> (64 - tagBits)
	for i := home(s, tag); s[i] != 0; {
		if s[i]>>placeBits == tag {
			see(int64(s[i]&(1<<placeBits-1)) - 1)
		}
		if i++; i == len(s) {
			i = 0
		}
	}
}
