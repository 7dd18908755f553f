package sink

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // as in Common Crawl's files; the archive, which is evidence, has SHA-256
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/parquet-go/parquet-go"

	"curtsy/storage/tables"
)

// bufferSize is the size of writes to a file.
const bufferSize = 256 << 10

// instantLayout is RFC 3339 with all digits of an instant.
const instantLayout = "2006-01-02T15:04:05.000000Z"

// csvWriter writes RFC 4180. encoding/csv would change line ends in fields, and does not distinguish null from "".
type csvWriter struct {
	w       *bufio.Writer
	exact   bool
	scratch []byte
}

// newCSV begins a CSV file. Unless exact, it marks strings that a spreadsheet would run as formulas.
func newCSV(w io.Writer, t *tables.Table, exact bool) (writer, error) {
	c := &csvWriter{w: bufio.NewWriterSize(w, bufferSize), exact: exact}
	for i := range t.Columns {
		c.comma(i)
		_, _ = c.w.WriteString(t.Columns[i].Name) // a bufio.Writer keeps its error
	}
	_, err := c.w.WriteString("\r\n")
	return c, err
}

func (c *csvWriter) comma(i int) {
	if i > 0 {
		_ = c.w.WriteByte(',')
	}
}

func (c *csvWriter) Write(r tables.Row) error {
	for i, v := range r {
		c.comma(i)
		switch {
		case v.IsNull():
			if len(r) == 1 {
				_, _ = c.w.WriteString(`""`) // readers would skip an empty line
			}
		case v.Kind() == tables.String:
			c.text(v.Text())
		case v.Kind() == tables.List:
			c.scratch = appendJSON(c.scratch[:0], listOf(v)) // an array is not a formula
			_ = c.w.WriteByte('"')
			c.inner(string(c.scratch))
			_ = c.w.WriteByte('"')
		default:
			c.scratch = plain(c.scratch[:0], v)
			_, _ = c.w.Write(c.scratch)
		}
	}
	_, err := c.w.WriteString("\r\n")
	return err
}

func plain(b []byte, v tables.Value) []byte {
	switch v.Kind() {
	case tables.Bool:
		return strconv.AppendBool(b, v.Number() != 0)
	case tables.Float64:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 64)
	case tables.Time:
		return v.Time().AppendFormat(b, instantLayout)
	}
	return strconv.AppendInt(b, v.Number(), 10)
}

// text writes a string, with quotes if empty, unlike null.
func (c *csvWriter) text(s string) {
	mark := !c.exact && formula(s)
	if s != "" && !mark && !strings.ContainsAny(s, "\",\r\n") && s[0] != ' ' && s[len(s)-1] != ' ' {
		_, _ = c.w.WriteString(s)
		return
	}
	_ = c.w.WriteByte('"')
	if mark {
		_ = c.w.WriteByte('\'')
	}
	c.inner(s)
	_ = c.w.WriteByte('"')
}

func (c *csvWriter) inner(s string) {
	for {
		at := strings.IndexByte(s, '"')
		if at < 0 {
			_, _ = c.w.WriteString(s)
			return
		}
		_, _ = c.w.WriteString(s[:at+1])
		_ = c.w.WriteByte('"')
		s = s[at+1:]
	}
}

func (c *csvWriter) Finish() error { return c.w.Flush() }

// formulas begin a cell that spreadsheets run, by OWASP's list with full-width forms. The mark itself is among them, so
// that removing one from each string restores the original.
var formulas = []string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'"}

func formula(s string) bool {
	return slices.ContainsFunc(formulas, func(begin string) bool { return strings.HasPrefix(s, begin) })
}

// jsonlWriter writes a JSON object with all columns on each line, so that the first line shows them.
type jsonlWriter struct {
	w       *bufio.Writer
	names   []string // text before each value
	scratch []byte
}

func newJSONL(w io.Writer, t *tables.Table) writer {
	j := &jsonlWriter{w: bufio.NewWriterSize(w, bufferSize)}
	for i := range t.Columns {
		begin := `,"`
		if i == 0 {
			begin = `{"`
		}
		j.names = append(j.names, begin+t.Columns[i].Name+`":`)
	}
	return j
}

func (j *jsonlWriter) Write(r tables.Row) error {
	for i, v := range r {
		_, _ = j.w.WriteString(j.names[i]) // a bufio.Writer keeps its error
		switch j.scratch = j.scratch[:0]; {
		case v.IsNull():
			j.scratch = append(j.scratch, "null"...)
		case v.Kind() == tables.String:
			j.scratch = appendJSON(j.scratch, v.Text())
		case v.Kind() == tables.List:
			j.scratch = appendJSON(j.scratch, listOf(v))
		case v.Kind() == tables.Time:
			j.scratch = append(plain(append(j.scratch, '"'), v), '"')
		default:
			j.scratch = plain(j.scratch, v)
		}
		_, _ = j.w.Write(j.scratch)
	}
	_, err := j.w.WriteString("}\n")
	return err
}

func (j *jsonlWriter) Finish() error { return j.w.Flush() }

// A row group ends at the number of rows that DuckDB reads at once, or at the byte limit: its pages are in memory until
// all columns are complete.
const (
	groupRows  = 122_880
	groupBytes = 32 << 20
)

// The library takes values by column, so batches are cheaper than single rows. They are bounded in rows and bytes, which
// bounds the length of pages.
const (
	batchRows  = 128
	batchBytes = 128 << 10
	longRow    = 1 << 10 // values above which a row's memory is not reused
)

// parquetWriter writes row groups of bounded size.
type parquetWriter struct {
	buf   *bufio.Writer
	w     *parquet.GenericWriter[any]
	rows  int // of the group
	bytes int // of the group, uncoded
	row   parquet.Row
	batch []parquet.Row // of the group, not written yet
	held  int           // bytes of the batch
	free  []parquet.Row // memory for rows
	there []int         // definition level of a value of each column, or of an empty list
}

func newParquet(w io.Writer, t *tables.Table, version string) (writer, error) {
	var sorting []parquet.SortingColumn
	for _, name := range t.Key {
		sorting = append(sorting, parquet.NullsFirst(parquet.Ascending(name)))
	}
	options := []parquet.WriterOption{
		parquet.NewSchema(t.Name, newColumns(t)),
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1), // known to every reader
		// The file's index has them. As part of a whole configuration false would be overridden by the default, true.
		parquet.DataPageStatistics(false),
		parquet.PageBufferSize(64 << 10),
		parquet.DictionaryMaxBytes(1 << 20),
		parquet.CreatedBy("curtsy", version, ""),
		parquet.KeyValueMetadata("curtsy.table", t.Name),
		parquet.KeyValueMetadata("curtsy.doc", t.Doc),
		parquet.KeyValueMetadata("curtsy.version", version),
		parquet.SortingWriterConfig(parquet.SortingColumns(sorting...)),
	}
	if _, err := parquet.NewWriterConfig(options...); err != nil {
		return nil, err
	}
	buf := bufio.NewWriterSize(w, bufferSize)
	p := &parquetWriter{buf: buf, w: parquet.NewGenericWriter[any](buf, options...)}
	for i := range t.Columns {
		level := 1
		if t.Columns[i].Required {
			level = 0
		}
		p.there = append(p.there, level)
	}
	return p, nil
}

func (p *parquetWriter) Write(r tables.Row) error {
	p.row = nil
	if n := len(p.free); n > 0 { // memory of a written row
		p.row, p.free = p.free[n-1], p.free[:n-1]
	}
	size := 0
	for i, v := range r {
		size += 8
		if v.IsNull() {
			p.row = append(p.row, parquet.NullValue().Level(0, 0, i))
			continue
		}
		switch v.Kind() {
		case tables.List:
			size += p.list(v.List(), i)
			continue
		case tables.String:
			size += len(v.Text())
		}
		p.row = append(p.row, scalar(v).Level(0, p.there[i], i))
	}
	if p.rows > 0 && (p.rows == groupRows || p.bytes+size > groupBytes) {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.rows, p.bytes, p.held = p.rows+1, p.bytes+size, p.held+size
	if p.batch = append(p.batch, p.row); len(p.batch) == batchRows || p.held >= batchBytes {
		return p.hand()
	}
	return nil
}

func (p *parquetWriter) hand() error {
	_, err := p.w.WriteRows(p.batch)
	for _, row := range p.batch {
		if clear(row); cap(row) <= longRow {
			p.free = append(p.free, row[:0])
		}
	}
	p.batch, p.held = p.batch[:0], 0
	return err
}

func (p *parquetWriter) flush() error {
	if err := p.hand(); err != nil {
		return err
	}
	p.rows, p.bytes = 0, 0
	return p.w.Flush()
}

func (p *parquetWriter) list(list []string, column int) (size int) {
	if len(list) == 0 {
		p.row = append(p.row, parquet.NullValue().Level(0, p.there[column], column))
	}
	for i, s := range list {
		p.row = append(p.row, parquet.ValueOf(s).Level(min(i, 1), p.there[column]+1, column))
		size += len(s) + 8
	}
	return size
}

func scalar(v tables.Value) parquet.Value {
	switch v.Kind() {
	case tables.Bool:
		return parquet.BooleanValue(v.Number() != 0)
	case tables.Int16, tables.Int32:
		return parquet.Int32Value(int32(v.Number()))
	case tables.Float64:
		return parquet.DoubleValue(v.Float())
	case tables.String:
		return parquet.ValueOf(v.Text())
	}
	return parquet.Int64Value(v.Number())
}

func (p *parquetWriter) Finish() error {
	if err := p.hand(); err != nil {
		return err
	}
	if err := p.w.Close(); err != nil {
		return err
	}
	return p.buf.Flush()
}

// columns keep a table's order; a parquet.Group sorts them by name.
type columns struct {
	parquet.Group
	fields []parquet.Field
}

// Fields implements parquet.Node.
func (c *columns) Fields() []parquet.Field { return c.fields }

func newColumns(t *tables.Table) *columns {
	c := &columns{Group: parquet.Group{}}
	for i := range t.Columns {
		c.Group[t.Columns[i].Name] = node(&t.Columns[i])
	}
	byName := map[string]parquet.Field{}
	for _, f := range c.Group.Fields() {
		byName[f.Name()] = f
	}
	for i := range t.Columns {
		c.fields = append(c.fields, byName[t.Columns[i].Name])
	}
	return c
}

func node(c *tables.Column) parquet.Node {
	var n parquet.Node
	switch c.Kind {
	case tables.Bool:
		n = parquet.Leaf(parquet.BooleanType)
	case tables.Int16:
		n = parquet.Int(16)
	case tables.Int32:
		n = parquet.Int(32)
	case tables.Int64:
		n = parquet.Int(64)
	case tables.Float64:
		n = parquet.Leaf(parquet.DoubleType)
	case tables.Time:
		n = parquet.Timestamp(parquet.Microsecond)
	case tables.List:
		n = parquet.List(parquet.Leaf(bounded{parquet.String().Type()}))
	default:
		n = parquet.Leaf(bounded{parquet.String().Type()})
	}
	if c.Few && c.Kind != tables.List && c.Kind != tables.Bool {
		n = parquet.Encoded(n, &parquet.RLEDictionary)
	}
	if c.Required {
		return parquet.Required(n)
	}
	return parquet.Optional(n)
}

// boundLength bounds the strings in a column's statistics. The library would keep the least and greatest string of each
// row group whole: for texts, the largest of the crawl.
const boundLength = 256

// bounded is a string type with short statistics: bounds that are not values of the column, as Parquet allows.
type bounded struct{ parquet.Type }

// NewColumnBuffer implements parquet.Type.
func (b bounded) NewColumnBuffer(column, values int) parquet.ColumnBuffer {
	return boundedBuffer{b.Type.NewColumnBuffer(column, values)}
}

type boundedBuffer struct{ parquet.ColumnBuffer }

// Page implements parquet.ColumnBuffer.
func (b boundedBuffer) Page() parquet.Page { return boundedPage{b.ColumnBuffer.Page()} }

type boundedPage struct{ parquet.Page }

// Bounds implements parquet.Page.
func (b boundedPage) Bounds() (least, greatest parquet.Value, ok bool) {
	least, greatest, ok = b.Page.Bounds()
	if !ok {
		return least, greatest, false
	}
	above, ok := atMost(greatest.ByteArray())
	return parquet.ByteArrayValue(atLeast(least.ByteArray())), parquet.ByteArrayValue(above), ok
}

// atLeast returns a short string that is not above s.
func atLeast(s []byte) []byte {
	if len(s) <= boundLength {
		return s
	}
	return s[:boundary(s)]
}

// atMost returns a short string that is not below s, if there is one: s up to a character that can be incremented.
func atMost(s []byte) (above []byte, ok bool) {
	if len(s) <= boundLength {
		return s, true
	}
	for end := boundary(s); end > 0; {
		r, n := utf8.DecodeLastRune(s[:end])
		end -= n
		switch {
		case r == utf8.MaxRune:
			continue
		case r == 0xd7ff: // surrogates follow, which are not characters
			r = 0xdfff
		}
		return utf8.AppendRune(append([]byte(nil), s[:end]...), r+1), true
	}
	return nil, false
}

// boundary returns the end of the last character that fits.
func boundary(s []byte) int {
	end := boundLength
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return end
}

// wetWriter writes the table text as Common Crawl's WET records: a conversion record of WARC 1.0 for each text, in its
// own gzip member.
type wetWriter struct {
	w    *bufio.Writer
	gz   *gzip.Writer
	head []byte

	url, time, id, languages, text, cut int // columns
}

// newWET begins a WET file of the table text. version is the program's.
func newWET(w io.Writer, t *tables.Table, version string) (writer, error) {
	if t.Name != tables.Reading.Name {
		return nil, errors.New("form: a WET file holds the table text and no other")
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

func (x *wetWriter) begin(kind string, date time.Time, id string) {
	x.head = append(x.head[:0], "WARC/1.0\r\n"...)
	x.field("WARC-Type", kind)
	x.field("WARC-Date", date.UTC().Format("2006-01-02T15:04:05Z"))
	x.field("WARC-Record-ID", id)
}

// field adds a field unless it is empty. It percent-encodes control characters.
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
	if strings.HasPrefix(refers, "urn:") && !strings.ContainsAny(refers, "<> ") { // ids of other crawlers may be invalid
		x.field("WARC-Refers-To", "<"+refers+">")
	}
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see above
	x.field("WARC-Block-Digest", "sha1:"+base32.StdEncoding.EncodeToString(sum[:]))
	x.field("WARC-Identified-Content-Language", r[x.languages].Text())
	if !r[x.cut].IsNull() {
		x.field("WARC-Truncated", "length")
	}
	x.field("Content-Type", "text/plain")
	return x.record(text)
}

func (x *wetWriter) Finish() error { return x.w.Flush() }

// wetID returns the id of a record, stable between exports: a UUID of a digest (RFC 9562 5.8).
func wetID(of ...string) string {
	sum := sha256.Sum256([]byte("curtsy wet\x00" + strings.Join(of, "\x00")))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// appendJSON appends a string or a list of strings as JSON, without HTML escapes.
func appendJSON(b []byte, v any) []byte {
	w := bytes.NewBuffer(b)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings cannot fail
	return bytes.TrimSuffix(w.Bytes(), []byte("\n"))
}

// listOf returns the list of a value, never nil, which would be null in JSON.
func listOf(v tables.Value) []string { return append([]string{}, v.List()...) }

// writer writes the rows of one table in one format to an io.Writer. It does not check rows, and flushes only in Finish.
// It is not safe for concurrent use.
type writer interface {
	Write(r tables.Row) error // does not keep r
	Finish() error
}

// wetExt is the extension of WET files.
const wetExt = ".warc.wet.gz"
