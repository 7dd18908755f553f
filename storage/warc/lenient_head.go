package warc

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

var (
	gzipMagic = []byte{0x1f, 0x8b, 8}
	headMagic = []byte("WARC/")
)

// isZstd reports whether b begins a Zstandard frame, or the skippable frame with a dictionary that a .warc.zst has
// first.
func isZstd(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) || len(b) == 4 && b[0]&0xf0 == 0x50 &&
		bytes.Equal(b[1:], []byte{0x2a, 0x4d, 0x18})
}

// head reads the head that seek found. It returns nil if the record cannot be read; what of it was not passed over is
// then passed over by seek, or by enter.
func (l *Lenient) head() *Record {
	r := &Record{Offset: l.at, Within: l.within()}
	if !l.zip {
		r.Offset = l.offset()
	}
	if l.inner++; l.zip && l.inner == 2 {
		l.find(SeveralRecords, "more than one record in a gzip member: they cannot be read one by one")
	}
	at := func(code, text string) { l.found(Finding{r.Offset, code, text}) }
	left, bare := maxHead, false
	for first := true; ; first = false {
		b, err := l.cur.ReadSlice('\n')
		if left -= len(b); left < 0 || errors.Is(err, bufio.ErrBufferFull) {
			at(LongHead, "a header of more than "+strconv.Itoa(maxHead)+" bytes")
			return nil
		}
		if err != nil {
			l.rec = r
			l.ends(err, "a head")
			l.rec = nil
			return nil
		}
		line, ok := bytes.CutSuffix(b, []byte("\r\n"))
		if !ok {
			line, bare = b[:len(b)-1], true
		}
		if first {
			r.Version = string(line)
			continue
		}
		if len(line) == 0 {
			break
		}
		if !r.addField(line) {
			at(BadField, "the line "+strconv.Quote(string(line[:min(len(line), 60)]))+" is not a field")
		}
	}
	r.unfold()
	if bare {
		at(LineFeed, "lines of the header end in only LF")
	}
	r.Type = r.Fields.Get("WARC-Type")
	l.oddities(r)
	if !l.length(r) {
		return nil
	}
	l.block = &lenientBlock{l: l, rec: r, left: r.Length}
	r.Block = l.block
	return r
}

// oddities names what is unusual in a head and does no harm.
func (l *Lenient) oddities(r *Record) {
	switch r.Version {
	case "WARC/1.1", "WARC/1.0":
	case "WARC/0.16", "WARC/0.17", "WARC/0.18":
		l.found(Finding{r.Offset, OldVersion, "a record of " + r.Version})
	default:
		l.found(Finding{r.Offset, OddVersion, "a record of " + strconv.Quote(r.Version[:min(len(r.Version), 40)])})
	}
	if strings.HasPrefix(r.Fields.Get("WARC-Target-URI"), "<") {
		l.found(Finding{r.Offset, AngleBrackets, "angle brackets around the WARC-Target-URI"})
	}
}

// length reads the length of r's block and reports whether it has one.
func (l *Lenient) length(r *Record) bool {
	said := r.Fields.Values("Content-Length")
	if len(said) == 0 {
		l.found(Finding{r.Offset, NoLength, "no Content-Length"})
		return false
	}
	if len(said) > 1 {
		if len(slices.Compact(said)) > 1 {
			l.found(Finding{r.Offset, NoLength, "several Content-Lengths that differ"})
			return false
		}
		l.found(Finding{r.Offset, LengthTwice, "Content-Length occurs more than once"})
	}
	n, err := strconv.ParseUint(said[0], 10, 64)
	if err != nil || n > math.MaxInt64 {
		l.found(Finding{r.Offset, NoLength, "a Content-Length of " + strconv.Quote(said[0][:min(len(said[0]), 40)])})
		return false
	}
	r.Length = int64(n)
	return true
}

// Where scan stopped.
const (
	atEnd = iota
	atHead
	atMember
)

// scan passes over octets up to a gzip member, or up to the head of a record at the beginning of a line, or up to
// either. It says how many octets it passed over, whether all were line ends, and where it stopped.
func scan(in *bufio.Reader, member, head bool) (n int64, blank bool, where int) {
	blank = true
	for prev := byte('\n'); ; {
		b, err := in.Peek(max(in.Buffered(), len(headMagic)))
		i := -1
		if member {
			i, where = bytes.Index(b, gzipMagic), atMember
		}
		if head {
			if j := headAt(b, prev); j >= 0 && (i < 0 || j < i) {
				i, where = j, atHead
			}
		}
		skip := i
		if i < 0 {
			// The last octets may begin what is sought.
			if skip, where = len(b)-len(headMagic)+1, atEnd; err != nil || skip < 0 {
				skip = len(b)
			}
		}
		if skip > 0 {
			blank = blank && len(bytes.Trim(b[:skip], "\r\n")) == 0
			prev = b[skip-1]
		}
		k, _ := in.Discard(skip)
		if n += int64(k); where != atEnd || err != nil {
			return n, blank, where
		}
	}
}

// headAt returns where in b a head begins, behind the octet prev, or -1.
func headAt(b []byte, prev byte) int {
	for from := 0; ; {
		i := bytes.Index(b[from:], headMagic)
		if i < 0 {
			return -1
		}
		if i += from; i == 0 && prev == '\n' || i > 0 && b[i-1] == '\n' {
			return i
		}
		from = i + 1
	}
}
