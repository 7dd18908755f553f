package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Lenient reads the records of any crawler's archive, compressed or plain, in memory independent of their size and
// number. It reports a departure from the standard as a Finding and continues with the next readable record. Only a
// failure of reading is an error.
type Lenient struct {
	found func(Finding)
	base  int64 // offset of the reader's beginning
	src   source
	in    *bufio.Reader // of src
	gz    *gzip.Reader  // of in
	unzip source        // of gz: counts the bytes of the member
	out   *bufio.Reader // of unzip
	http  *bufio.Reader // of a block: see ReadHTTP
	cur   *bufio.Reader // where records are: in, out, or nil between two members
	zip   bool          // the file is compressed
	begun bool          // it has read a record or garbage
	at    int64         // where the current member begins
	inner int           // records read in the current member
	rec   *Record       // the current one; nil between two
	block *lenientBlock // of rec
	err   error
}

// NewLenient returns a reader of the archive r from its beginning. Its methods call found, unless nil, for each finding
// in order.
func NewLenient(r io.Reader, found func(Finding)) *Lenient {
	return newBuffers().lenient(r, 0, found)
}

// ErrZstd is the error for an archive compressed with Zstandard, which this package does not read.
var ErrZstd = errors.New("warc: this is a .warc.zst, which cannot be read here; decompress it (zstd -d) and read the .warc")

// Next skips the rest of the current record and returns the next readable one, or io.EOF at the end.
func (l *Lenient) Next() (*Record, error) {
	for {
		l.pass()
		if l.err != nil {
			return nil, l.err
		}
		if l.cur == nil {
			l.enter()
			continue
		}
		if !l.seek() {
			if l.cur = nil; !l.zip {
				l.stop(io.EOF)
			}
			continue
		}
		if rec := l.head(); rec != nil {
			l.rec = rec
			return rec, nil
		}
	}
}

// End skips the rest of the current record and returns the offset after it, or after its member if that has no other
// record, or else that of its member.
func (l *Lenient) End() (int64, error) {
	l.pass()
	if l.err != nil && !errors.Is(l.err, io.EOF) {
		return 0, l.err
	}
	if l.zip && l.cur != nil {
		return l.at, nil
	}
	return l.offset(), nil
}

func (l *Lenient) offset() int64 {
	if l.in == nil { // closed
		return l.base + l.src.n
	}
	return l.base + l.src.n - int64(l.in.Buffered())
}

func (l *Lenient) find(code, format string, args ...any) {
	at := l.at
	if !l.zip {
		at = l.offset()
	}
	if l.rec != nil {
		at = l.rec.Offset
	}
	l.found(Finding{at, code, fmt.Sprintf(format, args...)})
}

// enter begins the next member or, in a plain file, record.
func (l *Lenient) enter() {
	l.at = l.offset()
	b, err := l.in.Peek(4)
	if len(b) == 0 {
		l.stop(err)
		return
	}
	if !l.begun {
		if isZstd(b) {
			l.err = ErrZstd
			return
		}
		l.begun, l.zip = true, !bytes.HasPrefix(b, []byte("WARC"))
		if !l.zip {
			l.find(PlainFile, "the file is not compressed")
			l.cur = l.in
			return
		}
	}
	if err != nil && len(b) < len(gzipMagic) && bytes.HasPrefix(gzipMagic, b) {
		_, _ = l.in.Discard(len(b))
		l.damaged(io.ErrUnexpectedEOF)
		return
	}
	if !bytes.HasPrefix(b, gzipMagic) {
		_, blank, which := scan(l.in, true, l.at == l.base)
		l.tellSkipped(l.at, l.offset()-l.at, blank)
		if l.stop(l.src.err); which == atHead {
			l.zip, l.cur = false, l.in
		}
		return
	}
	if err := l.gz.Reset(l.in); err != nil {
		l.damaged(err)
		return
	}
	l.gz.Multistream(false)
	l.unzip = source{r: l.gz}
	l.out.Reset(&l.unzip)
	l.cur, l.inner = l.out, 0
}

// stop ends the reading with io.EOF if err is that, or with the read error of the file.
func (l *Lenient) stop(err error) {
	switch {
	case l.src.err != nil:
		l.err = fmt.Errorf("warc: read at offset %d: %w", l.offset(), l.src.err)
	case errors.Is(err, io.EOF):
		l.err = io.EOF
	}
}

func (l *Lenient) damaged(err error) {
	l.cur = nil
	if l.stop(nil); l.err != nil {
		return
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		if _, more := l.in.Peek(1); more != nil {
			l.find(Torn, "the file ends within a record or its gzip member")
			return
		}
	}
	l.find(DamagedMember, "the gzip member cannot be decompressed to its end: %v", err)
}

// ends handles the error of a read from l.cur and reports whether it ended the member or file.
func (l *Lenient) ends(err error, where string) bool {
	switch {
	case err == nil:
		return false
	case !l.zip:
		if l.stop(io.EOF); errors.Is(l.err, io.EOF) {
			l.find(Torn, "the file ends within %s", where)
		}
		l.cur = nil
	case errors.Is(err, io.EOF):
		l.find(ShortMember, "the gzip member ends within %s", where)
		l.cur = nil
	default:
		l.damaged(err)
	}
	return true
}

// seek moves to the next record's head in the member or plain file and reports whether there is one.
func (l *Lenient) seek() bool {
	at := l.offset()
	if l.zip {
		at = l.at
	}
	b, err := l.cur.Peek(len(headMagic))
	if bytes.Equal(b, headMagic) {
		return true
	}
	if err != nil && bytes.HasPrefix(headMagic, b) {
		switch {
		case len(b) > 0 || !errors.Is(err, io.EOF):
			l.ends(err, "a head")
		case l.zip && l.inner == 0:
			l.find(Garbage, "an empty gzip member")
		}
		return false
	}
	n, blank, which := scan(l.cur, false, true)
	l.tellSkipped(at, n, blank)
	if _, err := l.cur.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		if l.zip {
			l.damaged(err)
		}
		return false
	}
	return which == atHead
}

// blanks skips empty lines after a record, as a wrong Content-Length leaves them, to reach the checksum after them.
func (l *Lenient) blanks() {
	n := int64(0)
	for {
		b, _ := l.cur.Peek(1)
		if len(b) == 0 || b[0] != '\r' && b[0] != '\n' {
			break
		}
		l.skip(1)
		n++
	}
	l.tellSkipped(l.at, n, true)
}

func (l *Lenient) tellSkipped(at, n int64, blank bool) {
	switch {
	case n == 0, l.src.err != nil:
	case blank:
		l.found(Finding{at, ExtraLines, fmt.Sprintf("%d bytes of empty lines between records", n)})
	default:
		l.found(Finding{at, Garbage, fmt.Sprintf("%d bytes that are not a record", n)})
	}
}

func (l *Lenient) pass() {
	rec := l.rec
	if rec == nil {
		return
	}
	if _, err := io.Copy(io.Discard, l.block); err != nil {
		l.rec = nil
		return
	}
	if l.cur == nil { // the block ended early
		l.rec = nil
		return
	}
	b, err := l.cur.Peek(len(recordEnd))
	switch {
	case string(b) == recordEnd:
		l.skip(len(b))
	case l.zip && err != nil && !errors.Is(err, io.EOF):
		l.ends(err, "the end of a record")
	case bytes.HasPrefix(b, []byte("\n\n")):
		l.find(ShortEnd, "only LF after the block")
		l.skip(2)
	case bytes.HasPrefix(b, []byte("\r\n")), bytes.HasPrefix(b, []byte("\n")):
		l.find(ShortEnd, "one line end after the block")
		l.skip(bytes.IndexByte(b, '\n') + 1)
	case len(b) < len(recordEnd) && len(bytes.Trim(b, "\r\n")) == 0:
		l.ends(err, "the end of a record")
	default:
		l.find(NoEnd, "%q after the block, not the end of a record: the Content-Length is wrong", b)
	}
	if l.zip && l.cur != nil { // the end of the member verifies its checksum
		l.blanks()
		if _, err := l.cur.Peek(1); errors.Is(err, io.EOF) {
			l.cur = nil
		} else if err != nil {
			l.damaged(err)
		}
	}
	l.rec = nil
}

func (l *Lenient) skip(n int) { _, _ = l.cur.Discard(n) }

type lenientBlock struct {
	l    *Lenient
	rec  *Record
	left int64

	buffered bool // its reader is the Lenient's buffer
}

func (b *lenientBlock) past() error {
	return fmt.Errorf("warc: read the block at offset %d: the reader is past it", b.rec.Offset)
}

func (b *lenientBlock) Read(p []byte) (int, error) {
	if b.l.rec != b.rec {
		return 0, b.past()
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	if b.l.cur == nil {
		return 0, io.ErrUnexpectedEOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.l.cur.Read(p)
	b.left -= int64(n)
	if n == 0 && b.l.ends(err, fmt.Sprintf("a block: %d of its %d bytes are missing", b.left, b.rec.Length)) {
		if b.l.err != nil && !errors.Is(b.l.err, io.EOF) {
			return 0, b.l.err
		}
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

var (
	gzipMagic = []byte{0x1f, 0x8b, 8}
	headMagic = []byte("WARC/")
)

// isZstd reports whether b begins a Zstandard frame, or the skippable frame of a dictionary with which a .warc.zst begins.
func isZstd(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) || len(b) == 4 && b[0]&0xf0 == 0x50 &&
		bytes.Equal(b[1:], []byte{0x2a, 0x4d, 0x18})
}

// head reads the head that seek found. It returns nil if that is unreadable; seek or enter then skips the rest.
func (l *Lenient) head() *Record {
	r := &Record{Offset: l.offset()}
	if l.zip {
		r.Offset, r.Within = l.at, l.unzip.n-int64(l.out.Buffered())
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

// length sets the length of r's block and reports whether it is valid.
func (l *Lenient) length(r *Record) bool {
	lengths := r.Fields.Values("Content-Length")
	if len(lengths) == 0 {
		l.found(Finding{r.Offset, NoLength, "no Content-Length"})
		return false
	}
	if len(lengths) > 1 {
		if len(slices.Compact(lengths)) > 1 {
			l.found(Finding{r.Offset, NoLength, "several Content-Lengths that differ"})
			return false
		}
		l.found(Finding{r.Offset, LengthTwice, "Content-Length occurs more than once"})
	}
	n, err := strconv.ParseUint(lengths[0], 10, 64)
	if err != nil || n > math.MaxInt64 {
		l.found(Finding{r.Offset, NoLength, "a Content-Length of " + strconv.Quote(lengths[0][:min(len(lengths[0]), 40)])})
		return false
	}
	r.Length = int64(n)
	return true
}

const (
	atEnd = iota
	atHead
	atMember
)

// scan skips bytes up to a gzip member, to the head of a record at the start of a line, or to either. It returns their
// number, whether all were line ends, and where it stopped.
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
			// The last bytes may begin the magic.
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

// headAt returns the index of a head at the start of a line in b, which follows the byte prev, or -1.
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

// Finding is a departure from the standard or other oddity in an archive.
type Finding struct {
	Offset int64  // of the record's member, or in a plain file of the record
	Code   string // one of the codes below
	Text   string // for users; may quote the archive
}

// The codes of a Lenient reader.
const (
	PlainFile      = "plain-file"       // not compressed
	SeveralRecords = "several-records"  // more than one record in a gzip member
	OldVersion     = "old-version"      // before WARC 1.0
	OddVersion     = "odd-version"      // an unknown version
	LineFeed       = "line-feed"        // lines of a head end in only LF
	AngleBrackets  = "angle-brackets"   // around a WARC-Target-URI
	ExtraLines     = "extra-lines"      // empty lines between records
	ShortEnd       = "short-end"        // less than two line ends after a block
	LengthTwice    = "length-twice"     // the same Content-Length twice
	BadField       = "bad-field"        // a line of a head that is not a field
	NoLength       = "no-length"        // no valid Content-Length: the record is skipped
	LongHead       = "long-head"        // the head is too long: the record is skipped
	Garbage        = "garbage"          // bytes that are not a record
	Torn           = "torn"             // the file ends within a record
	ShortMember    = "short-member"     // a gzip member ends within a record
	DamagedMember  = "damaged-member"   // a gzip member that cannot be decompressed, or with a wrong checksum
	NoEnd          = "no-end-of-record" // other bytes than the end of the record after its block
)

// The further codes of a Checker.
const (
	NoRecord          = "no-record"           // the file has none
	NoType            = "no-type"             // no WARC-Type
	NoID              = "no-id"               // no WARC-Record-ID
	SameID            = "same-id"             // a record id that another record has
	BadDate           = "bad-date"            // no valid WARC-Date
	NoTarget          = "no-target"           // no WARC-Target-URI where one is required
	BlockDigest       = "block-digest"        // the block has another digest
	PayloadDigest     = "payload-digest"      // the payload has another digest
	CodedDigest       = "coded-digest"        // the payload digest is that of the body with its transfer coding
	UnknownDigest     = "unknown-digest"      // an unknown algorithm or form
	NoWarcinfo        = "no-warcinfo"         // the file does not begin with a warcinfo record
	MissingWarcinfo   = "missing-warcinfo"    // a record names a missing warcinfo record
	MissingConcurrent = "missing-concurrent"  // a record names a missing one of its exchange
	MissingOriginal   = "missing-original"    // a revisit refers to a record that is not in the given files
	OtherPayload      = "other-payload"       // a revisit refers to a record with another payload digest
	NoProfile         = "no-profile"          // a revisit without WARC-Profile
	ManyReferences    = "too-many-references" // more open references than are remembered
)

// Note reports whether f is harmless: nothing is lost or in doubt.
func (f Finding) Note() bool {
	switch f.Code {
	case PlainFile, SeveralRecords, OldVersion, LineFeed, AngleBrackets, ExtraLines, ShortEnd, LengthTwice, CodedDigest,
		UnknownDigest, NoWarcinfo, MissingOriginal:
		return true
	}
	return false
}

func (f Finding) String() string { return fmt.Sprintf("%d: %s (%s)", f.Offset, f.Text, f.Code) }
