package cdxj

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/warc"
)

// original is a line of the log of originals: an answer that later ones may refer to, and where it stands. A cut is a
// line of another kind: what the lines before it say of File at Offset and beyond is void.
type original struct {
	Payload [32]byte
	storage.Original
	File   string
	Offset int64
	Cut    bool
}

// The log's lines are words with a space between them, the first the CRC-32C of the others:
//
//	CRC PAYLOAD DATE ID OFFSET FILE URL
//	CRC cut OFFSET FILE
const (
	dateForm = "2006-01-02T15:04:05.000000Z"
	cutWord  = "cut"
	noID     = "-"
)

func (o *original) append(b []byte) []byte {
	from := len(b)
	b = append(b, "00000000 "...)
	if o.Cut {
		b = append(b, cutWord...)
	} else {
		b = append(hex.AppendEncode(b, o.Payload[:]), ' ')
		b = append(o.Date.UTC().AppendFormat(b, dateForm), ' ')
		b = append(b, cmp.Or(o.ID, noID)...)
	}
	b = strconv.AppendInt(append(b, ' '), o.Offset, 10)
	b = append(append(b, ' '), o.File...)
	if !o.Cut {
		b = append(append(b, ' '), o.URL...)
	}
	putSum(b[from:from+8], b[from+9:])
	return append(b, '\n')
}

// putSum writes the sum of text in eight digits.
func putSum(digits, text []byte) {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
	hex.Encode(digits, sum[:])
}

// oneWord reports whether s can be a word of the log.
func oneWord(s string) bool { return s != "" && whole(s) }

var errLog = errors.New("no line of the log of originals")

func parseOriginal(line []byte) (o original, err error) {
	line, ok := bytes.CutSuffix(line, []byte("\n"))
	if !ok || len(line) < 10 || line[8] != ' ' {
		return o, errLog
	}
	var sum [8]byte
	if putSum(sum[:], line[9:]); string(line[:8]) != string(sum[:]) {
		return o, errLog
	}
	words := strings.Split(string(line[9:]), " ")
	switch {
	case len(words) == 3 && words[0] == cutWord:
		o.Cut, o.File = true, words[2]
		o.Offset, err = strconv.ParseInt(words[1], 10, 64)
		return o, err
	case len(words) != 6:
		return o, errLog
	}
	if n, err := hex.Decode(o.Payload[:], []byte(words[0])); err != nil || n != len(o.Payload) || len(words[0]) != 2*n {
		return o, errLog
	}
	if o.Date, err = time.Parse(dateForm, words[1]); err != nil {
		return o, errLog
	}
	if words[2] != noID {
		o.ID = words[2]
	}
	o.Offset, err = strconv.ParseInt(words[3], 10, 64)
	o.File, o.URL = words[4], words[5]
	return o, err
}

// tornLog returns where the sound part of a log ends, having given each of its lines to see.
func tornLog(r io.Reader, see func(o original, at int64)) (end int64, err error) {
	for in := newLines(r); ; {
		line, at, _, err := in.next()
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		var o original
		if err == nil {
			o, err = parseOriginal(line)
		} else if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
			return end, err
		}
		if err != nil {
			return end, nil // torn: nothing behind it was ever synced
		}
		see(o, at)
		end = at + int64(len(line))
	}
}

// cut says what a log's lines up to a place no longer hold for.
type cut struct {
	before int64 // lines of the log that begin before this byte
	end    int64 // at this offset of the WARC file, and beyond
}

// originalLog is the log of originals of one crawl.
type originalLog struct {
	f    *os.File
	size int64
	line []byte // of the last add
	cuts map[string][]cut
}

// openLog opens the log, cuts what a kill tore, and gives each original to see.
func openLog(path string, see func(o original, at int64)) (_ *originalLog, err error) {
	f, err := durable.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	l := &originalLog{f: f, cuts: map[string][]cut{}}
	l.size, err = tornLog(f, func(o original, at int64) {
		if o.Cut {
			l.cuts[o.File] = append(l.cuts[o.File], cut{before: at, end: o.Offset})
		} else {
			see(o, at)
		}
	})
	if err != nil {
		return nil, err
	}
	return l, f.Truncate(l.size)
}

// add appends o and returns where it stands.
func (l *originalLog) add(o *original) (at int64, err error) {
	at = l.size
	l.line = o.append(l.line[:0])
	if _, err := l.f.WriteAt(l.line, at); err != nil {
		return 0, err
	}
	l.size += int64(len(l.line))
	if o.Cut {
		l.cuts[o.File] = append(l.cuts[o.File], cut{before: at, end: o.Offset})
	}
	return at, nil
}

// at reads the line at a place; ok is false if it is void or none.
func (l *originalLog) at(place int64) (o original, ok bool, err error) {
	line, _, _, err := newLinesSize(io.NewSectionReader(l.f, place, l.size-place), 512).next()
	if err != nil && !errors.Is(err, io.EOF) {
		return o, false, err
	}
	if o, err = parseOriginal(line); err != nil || o.Cut {
		return o, false, nil // damaged since: what cannot be read is not referred to
	}
	for _, c := range l.cuts[o.File] {
		if place < c.before && o.Offset >= c.end {
			return o, false, nil
		}
	}
	return o, true, nil
}

// DropOriginals takes the answers whose ids are gone from the log of originals in the folder of an index, which nobody
// else writes: no later answer is kept as a repeat of one. A torn end of the log goes, too.
func DropOriginals(index string, gone func(id string) bool) error {
	path := filepath.Join(index, logName)
	some := false
	err := originalsIn(path, func(o original) error {
		some = some || !o.Cut && gone(o.ID)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && some {
		err = durable.File(path, func(w io.Writer) error {
			var line []byte
			return originalsIn(path, func(o original) error {
				if !o.Cut && gone(o.ID) {
					return nil
				}
				line = o.append(line[:0])
				_, err := w.Write(line)
				return err
			})
		})
	}
	if err != nil {
		return fmt.Errorf("cdxj: forget originals: %w", err)
	}
	return nil
}

// originalsIn gives the lines of a log, up to where it is torn, to see; its first error is returned.
func originalsIn(path string, see func(o original) error) error {
	f, err := durable.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var failed error
	_, err = tornLog(f, func(o original, _ int64) {
		if failed == nil {
			failed = see(o)
		}
	})
	return errors.Join(err, failed)
}

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

// A slot is 26 bits of a hash and 38 bits of a place (plus 1, so that 0 is an empty slot).
const (
	shards    = 256
	tagBits   = 26
	placeBits = 64 - tagBits
	maxPlace  = 1<<placeBits - 2
)

// table finds places by a hash, in about 12 bytes for each: open addressing with linear probing, 0.6 to 0.85 full.
// The caller compares the record at a place: a table knows 34 bits of the hash. Each shard grows by itself,
// so that no growth holds up much or doubles the memory. Hashes must come from a keyed function: of digests alone an
// adversary could choose those that collide.
type table struct {
	shard [shards][]uint64
	used  [shards]int
	n     int
}

// add adds a place for a hash; it does not look whether one is there already. It reports false for a place that is too
// large to be kept.
func (t *table) add(hash uint64, place int64) bool {
	if place < 0 || place > maxPlace {
		return false
	}
	i := hash >> (64 - 8)
	if s := t.shard[i]; (t.used[i]+1)*20 > len(s)*17 {
		t.shard[i] = grown(s)
	}
	insert(t.shard[i], hash<<8>>(64-tagBits)<<placeBits|uint64(place+1))
	t.used[i]++
	t.n++
	return true
}

func grown(old []uint64) []uint64 {
	s := make([]uint64, len(old)+len(old)*2/5+4)
	for _, slot := range old {
		if slot != 0 {
			insert(s, slot)
		}
	}
	return s
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

// home is where the search for a tag begins.
func home(s []uint64, tag uint64) int {
	i, _ := bits.Mul64(tag<<placeBits, uint64(len(s)))
	return int(i)
}

// find calls is for each place that may be that of a hash until it reports true or an error.
func (t *table) find(hash uint64, is func(place int64) (bool, error)) error {
	s := t.shard[hash>>(64-8)]
	if len(s) == 0 {
		return nil
	}
	tag := hash << 8 >> (64 - tagBits)
	for i := home(s, tag); s[i] != 0; {
		if s[i]>>placeBits == tag {
			if ok, err := is(int64(s[i]&(1<<placeBits-1)) - 1); ok || err != nil {
				return err
			}
		}
		if i++; i == len(s) {
			i = 0
		}
	}
	return nil
}
