package export

import (
	"context"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/tables"
)

// decisions makes a row for each line of the ledger.
func decisions(ctx context.Context, in *Inputs, out *Out) error {
	f := newFiller(&tables.Decisions)
	fields := storage.Fields()
	for _, c := range in.Crawls {
		name := tables.Text(c.Name)
		err := c.entries(ctx, out, func(e *entry) error {
			r := f.row()
			r.set("crawl", name)
			r.set("entry", tables.Long(e.Index))
			if e.generation > 0 {
				r.set("generation", tables.Long(e.generation))
			}
			switch {
			case e.unread:
				r.set("line_kind", tables.Text("unreadable"))
			case e.Forgotten:
				r.set("line_kind", tables.Text("redacted"))
			case e.Mark != nil:
				r.set("line_kind", tables.Text("mark"))
				r.set("mark", tables.Text(string(e.Text)))
				r.set("time", tables.Instant(e.Mark.Time))
			default:
				r.set("line_kind", tables.Text("decision"))
				r.line(fields, &e.Line)
			}
			return out.Row(r.r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// line fills in the fields of a line.
func (r row) line(fields []storage.Field, l *storage.Line) {
	var text []byte
	for i := range fields {
		f := &fields[i]
		if !f.IsSaid(l) {
			continue
		}
		if lines, ok := f.Lines(l); ok {
			r.set(f.JSON, tables.Texts(strings.Split(lines, "\n")))
			continue
		}
		text = f.AppendText(text[:0], l)
		r.set(f.JSON, valueOf(tables.KindOf(f), string(text)))
	}
}

// valueOf reads what a field wrote.
func valueOf(k tables.Kind, text string) tables.Value {
	switch k {
	case tables.Time:
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return tables.Instant(t)
		}
	case tables.Float64:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return tables.Float(n)
		}
	case tables.Int64:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return tables.Long(n)
		}
	case tables.Bool:
		return tables.Flag(text == "true")
	default:
		return tables.Text(text)
	}
	return tables.Null()
}
