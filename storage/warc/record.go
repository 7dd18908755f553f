package warc

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// Record is a record as a Reader finds it. Its fields are not checked against its block.
type Record struct {
	Version string // "WARC/1.1"
	Fields  Fields // all named fields, in their order
	Type    string // WARC-Type
	Length  int64  // of the block, in octets
	Offset  int64  // of the record's gzip member, from the Reader's beginning

	// Within is how many octets of its decompressed member come before the record: 0 unless the member holds several.
	Within int64

	// Block reads the block, exactly Length octets or an error, until the next call of the Reader's Next or End.
	Block io.Reader

	fold []byte // value of the last field while its lines go on
}

// ID returns the record id, a URI without its angle brackets, or "".
func (r *Record) ID() string { return bare(r.Fields.Get("WARC-Record-ID")) }

// ConcurrentTo returns the id of the first record of the same exchange that r names, or "".
func (r *Record) ConcurrentTo() string { return bare(r.Fields.Get("WARC-Concurrent-To")) }

// TargetURI returns the WARC-Target-URI, or "". WARC 1.0's grammar had it in angle brackets, and wget writes it so.
func (r *Record) TargetURI() string { return bare(r.Fields.Get("WARC-Target-URI")) }

// Date returns the WARC-Date (WARC 1.1, 5.4: a date of W3CDTF with a time, in UTC).
func (r *Record) Date() (time.Time, error) {
	t, err := parseDate(r.Fields.Get("WARC-Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("warc: read WARC-Date of the record at offset %d: %w", r.Offset, err)
	}
	return t, nil
}

// parseDate reads a date with a time, in UTC whatever its offset.
func parseDate(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t.UTC(), err
}

// addField adds a line of a head, which is not empty, and reports whether it is a field.
func (r *Record) addField(line []byte) bool {
	if n := len(r.Fields); n > 0 && (line[0] == ' ' || line[0] == '\t') {
		// LWS: a line that goes on is one space (WARC 1.1, 4). The value is put together once: a head may be nothing else.
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
	r.Fields = append(r.Fields, Field{nameOf(name), string(bytes.Trim(value, " \t"))})
	return true
}

// unfold ends the last field.
func (r *Record) unfold() {
	if r.fold != nil {
		r.Fields[len(r.Fields)-1].Value, r.fold = string(r.fold), nil
	}
}

func bare(uri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, "<"), ">")
}

// maxHead is the most octets a record may have before its block. Our own heads stay below 10 KiB.
const maxHead = 64 << 10

// recordEnd stands behind every block.
const recordEnd = "\r\n\r\n"

// Field is a named field of a record, or of the block of a warcinfo record.
type Field struct{ Name, Value string }

// Fields are named fields in their order. Names are compared without regard to case (WARC 1.1, 4).
type Fields []Field

// Get returns the value of the first field of that name, or "".
func (fs Fields) Get(name string) string {
	for _, f := range fs {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Values returns the values of all fields of that name.
func (fs Fields) Values(name string) []string {
	var vs []string
	for _, f := range fs {
		if strings.EqualFold(f.Name, name) {
			vs = append(vs, f.Value)
		}
	}
	return vs
}

// names are those that most records have: they need no memory of their own.
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

// nameOf returns a field's name as it is written.
func nameOf(b []byte) string {
	if name, ok := names[string(b)]; ok {
		return name
	}
	return string(b)
}

// token reports whether s can be a field name: the token of WARC 1.1, 4.
func token(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// solid reports whether s is free of white space and control characters, so that it cannot end its line.
func solid(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f {
			return false
		}
	}
	return true
}
