package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Reader reads the records of a segment of this crawler. It is a Lenient reader to which every finding is an error,
// except the version and angle brackets of a URL. It requires one record in each gzip member (WARC 1.1, D.2). An error is
// final.
type Reader struct {
	l   *Lenient
	err error
}

func NewReader(r io.Reader) *Reader {
	rd := new(Reader)
	rd.l = NewLenient(r, rd.refuse)
	return rd
}

func (r *Reader) refuse(f Finding) {
	why := errors.New(f.Text)
	switch f.Code {
	case OldVersion, OddVersion, AngleBrackets:
		return
	case Torn:
		why = fmt.Errorf("%s: %w", f.Text, io.ErrUnexpectedEOF)
	}
	if r.err == nil {
		r.err = fmt.Errorf("warc: read the record at offset %d: %w", f.Offset, why)
		r.l.err = r.err
	}
}

// Next skips the rest of the current record and returns the next, or io.EOF at the end. Its error wraps
// io.ErrUnexpectedEOF if the segment ends within a record.
func (r *Reader) Next() (*Record, error) {
	if _, err := r.End(); err != nil {
		return nil, err
	}
	rec, err := r.l.Next()
	if r.err == nil {
		r.err = err
	}
	if r.err != nil {
		return nil, r.err
	}
	return rec, nil
}

// End reads the current record to its end, checks that its member is sound and has no other record, and returns the
// offset after it: End − Record.Offset is the length of the member. Between two records it only returns the offset.
func (r *Reader) End() (int64, error) {
	if r.err != nil {
		return 0, r.err
	}
	end, err := r.l.End()
	if err == nil && r.l.cur != nil {
		r.refuse(Finding{r.l.at, SeveralRecords, "more than one record in a gzip member"})
	}
	if r.err == nil {
		r.err = err
	}
	return end, r.err
}

// source counts the bytes read and keeps the read error, to separate it from errors of decoding.
type source struct {
	r   io.Reader
	n   int64
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Record is a record as found. Its fields are not checked against its block.
type Record struct {
	Version string // "WARC/1.1"
	Fields  Fields // all named fields, in their order
	Type    string // WARC-Type
	Length  int64  // of the block, in bytes
	Offset  int64  // of the record's gzip member, from the Reader's beginning
	Within  int64  // offset in its decompressed member: 0 unless that has several records

	// Block reads the block, exactly Length octets or an error, until the next call of the Reader's Next or End.
	Block io.Reader

	fold []byte // value of the last field while it is folded
}

// ID returns the record id, a URI without its angle brackets, or "".
func (r *Record) ID() string { return bare(r.Fields.Get("WARC-Record-ID")) }

// ConcurrentTo returns the id of the first record of the same exchange that r names, or "".
func (r *Record) ConcurrentTo() string { return bare(r.Fields.Get("WARC-Concurrent-To")) }

// TargetURI returns the WARC-Target-URI, or "". The grammar of WARC 1.0 has angle brackets around it, and wget writes them.
func (r *Record) TargetURI() string { return bare(r.Fields.Get("WARC-Target-URI")) }

// Date returns the WARC-Date (WARC 1.1, 5.4: a date of W3CDTF with a time, in UTC).
func (r *Record) Date() (time.Time, error) {
	t, err := parseDate(r.Fields.Get("WARC-Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("warc: read WARC-Date of the record at offset %d: %w", r.Offset, err)
	}
	return t, nil
}

func parseDate(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t.UTC(), err
}

// addField adds a line of a head, not empty, and reports whether it is a field.
func (r *Record) addField(line []byte) bool {
	if n := len(r.Fields); n > 0 && (line[0] == ' ' || line[0] == '\t') {
		// A folded line counts as one space (WARC 1.1, 4). The value is joined once: a head may be nothing else.
		if r.fold == nil {
			r.fold = []byte(r.Fields[n-1].Value)
		}
		r.fold = append(append(r.fold, ' '), bytes.Trim(line, " \t")...)
		return true
	}
	r.unfold()
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || !token(string(name)) {
		return false
	}
	common, ok := names[string(name)]
	if !ok {
		common = string(name)
	}
	r.Fields = append(r.Fields, Field{common, string(bytes.Trim(value, " \t"))})
	return true
}

func (r *Record) unfold() {
	if r.fold != nil {
		r.Fields[len(r.Fields)-1].Value, r.fold = string(r.fold), nil
	}
}

func bare(uri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, "<"), ">")
}

// maxHead bounds a record's header, in bytes. Those of this crawler stay below 10 KiB.
const maxHead = 64 << 10

const recordEnd = "\r\n\r\n"

// Field is a named field of a record, or of the block of a warcinfo record.
type Field struct{ Name, Value string }

// Fields are named fields in their order. Names ignore case (WARC 1.1, 4).
type Fields []Field

// Get returns the value of the first field with that name, or "".
func (fs Fields) Get(name string) string {
	for _, f := range fs {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Values returns the values of all fields with that name.
func (fs Fields) Values(name string) []string {
	var vs []string
	for _, f := range fs {
		if strings.EqualFold(f.Name, name) {
			vs = append(vs, f.Value)
		}
	}
	return vs
}

// names saves allocating the names that most records have.
var names = func() map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		"WARC-Type", "WARC-Record-ID", "WARC-Date", "WARC-Filename", "WARC-Target-URI", "WARC-Warcinfo-ID",
		"WARC-Concurrent-To",
		"WARC-Profile", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-IP-Address",
		"WARC-Protocol",
		"WARC-Block-Digest", "WARC-Payload-Digest", "WARC-Truncated", "Content-Type", "Content-Length",
	} {
		all[name] = name
	}
	return all
}()

// token reports whether s can be a field name: the token of WARC 1.1, 4.
func token(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// solid reports whether s has no white space or control characters, so that it cannot end its line.
func solid(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

// Places reads single records of archive files, one at a time. It keeps the last file open, and its buffers, for the next
// record: use one for each goroutine. The zero value is ready.
type Places struct {
	path string
	file *os.File
	b    *buffers
	l    *Lenient // returned last
}

// Stretch is the part of a file to read.
type Stretch struct {
	Offset int64 // where a gzip member, or a record of a plain file, begins
	Length int64 // how much is wanted, and read at once; 0 if unknown
	// Only fails reading after Length bytes with ErrStretch. A member is decompressed in 32 KiB steps, so this saves work
	// for the head of a record.
	Only bool
}

// ErrStretch is the error of reading beyond a Stretch with Only.
var ErrStretch = errors.New("warc: no more of the file was to be read")

// Lenient is like LenientAt. It ends the reader that it returned before.
func (p *Places) Lenient(path string, s Stretch, found func(Finding)) (*Lenient, error) {
	p.end()
	if s.Offset < 0 {
		return nil, fmt.Errorf("warc: %s has no record at offset %d", path, s.Offset)
	}
	if p.file == nil || p.path != path {
		f, err := OpenListed(path, os.Open)
		if err != nil {
			return nil, fmt.Errorf("warc: %w", err)
		}
		if p.file != nil {
			p.file.Close() // only read
		}
		p.path, p.file = path, f
	}
	return p.begin(&stretch{p.file, s}, s.Offset, found), nil
}

// begin returns a reader of in, which is at that offset of the file.
func (p *Places) begin(in io.Reader, offset int64, found func(Finding)) *Lenient {
	if p.b == nil {
		p.b = buffered.Get().(*buffers) //nolint:forcetypeassert // it holds nothing else
	}
	p.l = p.b.lenient(in, offset, found)
	return p.l
}

func (p *Places) Close() error {
	p.end()
	if p.b != nil {
		p.b.in.Reset(nil) // or it would keep the file
		p.b.out.Reset(nil)
		p.b.http.Reset(nil)
		buffered.Put(p.b)
		p.b = nil
	}
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}

func (p *Places) end() {
	if l := p.l; l != nil {
		l.in, l.out, l.gz, l.cur, l.rec = nil, nil, nil, nil, nil
		l.err, p.l = errArchiveClosed, nil
	}
}

// stretch reads its part of a file.
type stretch struct {
	file *os.File
	Stretch
}

func (s *stretch) Read(p []byte) (int, error) {
	switch {
	case s.Length > 0:
		p = p[:min(int64(len(p)), s.Length)]
	case s.Only:
		return 0, ErrStretch
	}
	n, err := s.file.ReadAt(p, s.Offset)
	s.Offset, s.Length = s.Offset+int64(n), s.Length-int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil // the file is shorter than Length
	}
	return n, err
}

// ReadAt opens the archive file at path and returns the record at an offset: that of its gzip member, or in a plain file
// its own. If path does not exist, it reads path + ".open", a segment being written, so that the index is valid at any
// time. The block can be read until the Closer is closed.
func ReadAt(path string, offset int64) (*Record, io.Closer, error) {
	l, f, err := LenientAt(path, offset, nil)
	if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(path, openSuffix) {
		// LenientAt falls back to the final name if the segment was completed in between.
		if open, file, openErr := LenientAt(path+openSuffix, offset, nil); !errors.Is(openErr, fs.ErrNotExist) {
			l, f, err = open, file, openErr
		}
	}
	if err != nil {
		return nil, nil, err
	}
	rec, err := l.Next()
	switch {
	case errors.Is(err, io.EOF) || err == nil && (rec.Offset != offset || rec.Within != 0):
		err = fmt.Errorf("warc: %s has no record at offset %d", path, offset)
	case err != nil:
		err = fmt.Errorf("warc: %s: %w", path, err)
	default:
		return rec, f, nil
	}
	f.Close() // only read
	return nil, nil, err
}

// LenientAt opens the archive file at path for reading from an offset, where a gzip member or a record of a plain file
// begins. The offsets of records and findings count from the start of the file. Close ends the Lenient.
func LenientAt(path string, offset int64, found func(Finding)) (*Lenient, io.Closer, error) {
	f, err := OpenListed(path, os.Open)
	if err != nil {
		return nil, nil, fmt.Errorf("warc: %w", err)
	}
	return LenientOf(f, path, offset, found)
}

// LenientOf is LenientAt for an open file, which the Closer or an error closes.
func LenientOf(f *os.File, path string, offset int64, found func(Finding)) (_ *Lenient, _ io.Closer, err error) {
	if offset < 0 {
		err = fmt.Errorf("warc: %s has no record at offset %d", path, offset)
	} else if offset > 0 {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		f.Close() // only read
		return nil, nil, err
	}
	p := &Places{path: path, file: f}
	return p.begin(f, offset, found), p, nil
}

// buffers are the memory of a Lenient, many times that of most records.
type buffers struct {
	in, out, http *bufio.Reader
	gz            *gzip.Reader
}

func newBuffers() *buffers {
	return &buffers{bufio.NewReaderSize(nil, maxHead), bufio.NewReaderSize(nil, maxHead),
		bufio.NewReaderSize(nil, blockBuffer), new(gzip.Reader)}
}

func (b *buffers) lenient(r io.Reader, base int64, found func(Finding)) *Lenient {
	if found == nil {
		found = func(Finding) {}
	}
	l := &Lenient{found: found, base: base, src: source{r: r}, in: b.in, out: b.out, http: b.http, gz: b.gz}
	l.in.Reset(&l.src)
	return l
}

// buffered reuses the buffers of closed readers: many read only one record.
var buffered = sync.Pool{New: func() any { return newBuffers() }}

var errArchiveClosed = fmt.Errorf("warc: the archive file is closed: %w", os.ErrClosed)
