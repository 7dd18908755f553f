package sink

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // as Common Crawl has it; the archive, which is evidence, has SHA-256
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"curtsy/storage/tables"
)

// errOnlyText says that a WET file is made of texts alone.
var errOnlyText = errors.New("form: a WET file holds the table text and no other")

// wetWriter writes the table text as WET records, as Common Crawl writes them: a conversion record of WARC 1.0 for each
// text, in a gzip member of its own. Rows without a text have none.
type wetWriter struct {
	w    *bufio.Writer
	gz   *gzip.Writer
	head []byte

	url, time, id, languages, text, cut int // columns
}

// newWET begins the table text, and no other, as a file of WET records, by a program of that version.
func newWET(w io.Writer, t *tables.Table, version string) (writer, error) {
	if t.Name != tables.Reading.Name {
		return nil, errOnlyText
	}
	out := bufio.NewWriterSize(w, bufferSize)
	x := &wetWriter{
		w: out, gz: gzip.NewWriter(out),
		url: t.Index("url"), time: t.Index("fetch_time"), id: t.Index("warc_record_id"),
		languages: t.Index("content_languages"), text: t.Index("text"), cut: t.Index("text_cut"),
	}
	now := time.Now()
	name := t.Name + wetExt
	block := "Software-Info: curtsy/" + version + "\r\nExtracted-Date: " + now.UTC().Format(time.RFC1123) + "\r\n" +
		"format: WARC File Format 1.0\r\nconformsTo: http://bibnum.bnf.fr/WARC/WARC_ISO_28500_version1_latestdraft.pdf\r\n"
	x.begin("warcinfo", now, wetID(name, now.String()))
	x.field("WARC-Filename", name)
	x.field("Content-Type", "application/warc-fields")
	return x, x.record(block)
}

// begin begins a record's head.
func (x *wetWriter) begin(kind string, date time.Time, id string) {
	x.head = append(x.head[:0], "WARC/1.0\r\n"...)
	x.field("WARC-Type", kind)
	x.field("WARC-Date", date.UTC().Format("2006-01-02T15:04:05Z"))
	x.field("WARC-Record-ID", id)
}

// field adds a field, unless it is empty. What would end it is written as in URLs.
func (x *wetWriter) field(name, value string) {
	if value == "" {
		return
	}
	x.head = append(append(x.head, name...), ": "...)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == 0x7f {
			x.head = fmt.Appendf(x.head, "%%%02X", c)
		} else {
			x.head = append(x.head, c)
		}
	}
	x.head = append(x.head, "\r\n"...)
}

// record writes the head that was begun, and a block.
func (x *wetWriter) record(block string) error {
	x.field("Content-Length", fmt.Sprint(len(block)))
	x.head = append(x.head, "\r\n"...)
	x.gz.Reset(x.w)
	_, err := x.gz.Write(x.head)
	if err == nil {
		_, err = io.WriteString(x.gz, block)
	}
	if err == nil {
		_, err = io.WriteString(x.gz, "\r\n\r\n")
	}
	if err == nil {
		err = x.gz.Close()
	}
	return err
}

func (x *wetWriter) Write(r tables.Row) error {
	if r[x.text].IsNull() {
		return nil
	}
	text := r[x.text].Text() + "\n"
	url, date, refers := r[x.url].Text(), r[x.time].Time(), r[x.id].Text()
	x.begin("conversion", date, wetID(url, date.String(), refers))
	x.field("WARC-Target-URI", strings.ReplaceAll(url, " ", "%20"))
	if strings.HasPrefix(refers, "urn:") && !strings.ContainsAny(refers, "<> ") { // another crawler's may be anything
		x.field("WARC-Refers-To", "<"+refers+">")
	}
	x.field("WARC-Block-Digest", sha1Of(text))
	x.field("WARC-Identified-Content-Language", r[x.languages].Text())
	if !r[x.cut].IsNull() {
		x.field("WARC-Truncated", "length")
	}
	x.field("Content-Type", "text/plain")
	return x.record(text)
}

func (x *wetWriter) Finish() error { return x.w.Flush() }

func sha1Of(s string) string {
	sum := sha1.Sum([]byte(s)) //nolint:gosec // see above
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

// wetID is the id of a record, which it has again in the next export: a UUID by a digest (RFC 9562 5.8).
func wetID(of ...string) string {
	sum := sha256.Sum256([]byte("curtsy wet\x00" + strings.Join(of, "\x00")))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

const hexDigits = "0123456789abcdef"

// jsonText hands on s as a string of JSON (RFC 8259 7), in parts: a text of any length is not held a second time. What
// JavaScript takes for the end of a line (U+2028, U+2029) is escaped, too.
func jsonText(s string, put func(part string)) {
	put(`"`)
	begin := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= ' ' && c != '"' && c != '\\' && c != 0xe2 {
			continue
		}
		part, n := escaped(s[i:])
		if part == "" {
			continue
		}
		put(s[begin:i])
		put(part)
		i += n - 1
		begin = i + 1
	}
	put(s[begin:])
	put(`"`)
}

// jsonList hands on an array of strings, as jsonText does.
func jsonList(list []string, put func(part string)) {
	put("[")
	for i, s := range list {
		if i > 0 {
			put(",")
		}
		jsonText(s, put)
	}
	put("]")
}

// escaped is what stands for the first n bytes of s, or empty if they stand for themselves.
func escaped(s string) (part string, n int) {
	switch c := s[0]; {
	case c == '"':
		return `\"`, 1
	case c == '\\':
		return `\\`, 1
	case c == '\n':
		return `\n`, 1
	case c == '\r':
		return `\r`, 1
	case c == '\t':
		return `\t`, 1
	case c < ' ':
		return string([]byte{'\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]}), 1
	case c == 0xe2 && len(s) >= 3 && s[1] == 0x80 && s[2] == 0xa8:
		return `\u2028`, 3
	case c == 0xe2 && len(s) >= 3 && s[1] == 0x80 && s[2] == 0xa9:
		return `\u2029`, 3
	}
	return "", 1
}

// writer writes the rows of one table, in their order, in one format to an io.Writer: CSV, JSON lines, Parquet, or texts
// as WET records. It checks no row, and flushes nothing before Finish. It may not be used by two goroutines at once.
type writer interface {
	// Write adds a row, which it does not keep.
	Write(r tables.Row) error
	// Finish writes what is still to be written.
	Finish() error
}

// wetExt ends the name of a file of WET records.
const wetExt = ".warc.wet.gz"
