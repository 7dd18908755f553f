package cdxj

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage"
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
