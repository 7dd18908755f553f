package sink

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"curtsy/storage/tables"
)

// bufferSize is how much of a file is written at once.
const bufferSize = 256 << 10

// instantLayout is RFC 3339 with as many digits as an instant has.
const instantLayout = "2006-01-02T15:04:05.000000Z"

// csvWriter writes RFC 4180. encoding/csv would change line breaks within a field when it ends lines as the RFC does, and
// writes null as it writes the empty string.
type csvWriter struct {
	w       *bufio.Writer
	exact   bool
	scratch []byte
}

// newCSV begins a table as RFC 4180 has it. Unless exact, strings that a spreadsheet would run as formulas are marked.
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
				_, _ = c.w.WriteString(`""`) // readers take an empty line for no row
			}
		case v.Kind() == tables.String:
			c.text(v.Text())
		case v.Kind() == tables.List:
			c.list(v.List())
		default:
			c.scratch = plain(c.scratch[:0], v)
			_, _ = c.w.Write(c.scratch)
		}
	}
	_, err := c.w.WriteString("\r\n")
	return err
}

// plain appends a value that is no text.
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

// text writes a string: the empty one in quotes, which tells it from null.
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

// inner writes what stands between quotes.
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

// list writes an array of JSON, which no spreadsheet takes for a formula.
func (c *csvWriter) list(list []string) {
	_ = c.w.WriteByte('"')
	jsonList(list, c.inner)
	_ = c.w.WriteByte('"')
}

func (c *csvWriter) Finish() error { return c.w.Flush() }

// formulas are the beginnings that make spreadsheets run a cell, as OWASP lists them, the forms of full width among them;
// and the mark itself, so that whoever takes one away in front of each string has what was there.
var formulas = []string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'"}

func formula(s string) bool {
	for _, begin := range formulas {
		if strings.HasPrefix(s, begin) {
			return true
		}
	}
	return false
}

// jsonlWriter writes an object of JSON on each line, with all columns, so that a reader of the first line knows them.
// encoding/json would hold the text of a row a second time.
type jsonlWriter struct {
	w       *bufio.Writer
	names   []string // what stands in front of each value
	scratch []byte
}

// newJSONL begins a table as lines of JSON.
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
	put := func(s string) { _, _ = j.w.WriteString(s) } // a bufio.Writer keeps its error
	for i, v := range r {
		put(j.names[i])
		switch {
		case v.IsNull():
			put("null")
		case v.Kind() == tables.String:
			jsonText(v.Text(), put)
		case v.Kind() == tables.List:
			jsonList(v.List(), put)
		case v.Kind() == tables.Time:
			j.scratch = append(plain(append(j.scratch[:0], '"'), v), '"')
			_, _ = j.w.Write(j.scratch)
		default:
			j.scratch = plain(j.scratch[:0], v)
			_, _ = j.w.Write(j.scratch)
		}
	}
	_, err := j.w.WriteString("}\n")
	return err
}

func (j *jsonlWriter) Finish() error { return j.w.Flush() }
