package sink

import (
	"bufio"
	"io"

	"curtsy/storage/tables"
)

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
