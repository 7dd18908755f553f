package sink

import (
	"bufio"
	"io"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"curtsy/storage/tables"
)

// A row group ends with as many rows as DuckDB reads at once, or before with as many bytes: its pages wait in memory
// until all its columns are complete.
const (
	groupRows  = 122_880
	groupBytes = 32 << 20
)

// The library takes values column by column, so that many rows at once cost little more than one. Rows are handed on
// when they are so many, or have so many bytes: then a page is not much longer than it should be.
const (
	batchRows  = 128
	batchBytes = 128 << 10
	longRow    = 1 << 10 // values; the memory of a longer one is not kept
)

// parquetWriter writes row groups of bounded size.
type parquetWriter struct {
	buf   *bufio.Writer
	w     *parquet.GenericWriter[any]
	rows  int // of the group
	bytes int // of the group, as they are without a coding
	row   parquet.Row
	batch []parquet.Row // of the group, but not yet handed on
	held  int           // bytes of the batch
	free  []parquet.Row // memory of rows
	there []int         // the definition level of a value of each column, and of a list that is empty
}

// newParquet begins a table as Parquet, by a program of that version.
func newParquet(w io.Writer, t *tables.Table, version string) (writer, error) {
	var sorting []parquet.SortingColumn
	for _, name := range t.Key {
		sorting = append(sorting, parquet.NullsFirst(parquet.Ascending(name)))
	}
	options := []parquet.WriterOption{
		parquet.NewSchema(t.Name, newColumns(t)),
		parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1), // which every reader knows
		// The file's index has them. A writer that is given a whole configuration has its default, true, all the same: so
		// it is given options.
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
	p.next()
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

// next begins a row, in the memory of one that was handed on.
func (p *parquetWriter) next() {
	p.row = nil
	if n := len(p.free); n > 0 {
		p.row, p.free = p.free[n-1], p.free[:n-1]
	}
}

// hand hands on the rows of the batch.
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

// flush ends a row group.
func (p *parquetWriter) flush() error {
	if err := p.hand(); err != nil {
		return err
	}
	p.rows, p.bytes = 0, 0
	return p.w.Flush()
}

// list adds a list, and returns the bytes of its strings.
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

// columns are those of a table in their order; a parquet.Group has them by name.
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

// boundLength is how many bytes of a string stand in the statistics of a column. The library would keep the least and
// the greatest string of each row group whole, in memory and at the end of the file: of texts, the largest of the crawl.
const boundLength = 256

// bounded is the type of strings whose statistics are short: bounds that are no values of the column, as Parquet allows.
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

// atLeast is a short string that is not above s.
func atLeast(s []byte) []byte {
	if len(s) <= boundLength {
		return s
	}
	return s[:boundary(s)]
}

// atMost is a short string that is not below s, if there is one: s up to a character that has a next one.
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
		case r == 0xd7ff: // what follows is half of a pair, and no character
			r = 0xdfff
		}
		return utf8.AppendRune(append([]byte(nil), s[:end]...), r+1), true
	}
	return nil, false
}

// boundary is where the last character ends that fits.
func boundary(s []byte) int {
	end := boundLength
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return end
}
