package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage/tables"
	"curtsy/storage/warc"
)

// Reasons for parts of an archive without rows.
const (
	damagedRecord = "record-damaged"  // one or more, up to the next readable record
	headless      = "record-headless" // without a complete HTTP head
)

// headers makes a row for each line of the heads of requests and responses.
func headers(ctx context.Context, in *Inputs, out *Out) error {
	f := newFiller(&tables.Headers)
	for _, c := range in.Crawls {
		for _, name := range c.files {
			if err := c.headers(ctx, f, name, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Crawl) headers(ctx context.Context, f *filler, name string, out *Out) error {
	file, err := warc.OpenListed(c.archive[name], durable.Open)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer file.Close()
	l := warc.NewLenient(file, func(found warc.Finding) {
		if !found.Note() {
			out.Left(damagedRecord, 1)
		}
	})
	for {
		rec, err := l.Next()
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("export: %s: %w", c.archive[name], err)
		}
		side := ""
		switch strings.ToLower(rec.Type) {
		case "request":
			side = "request"
		case "response", "revisit":
			side = "response"
		default:
			continue
		}
		head, err := warc.HTTPHead(rec.Block)
		if err != nil || len(head) == 0 {
			out.Left(headless, 1)
			continue
		}
		r := f.row()
		r.set("crawl", tables.Text(c.Name))
		r.set("warc_filename", tables.Text(c.fileName(name)))
		r.set("warc_record_offset", tables.Long(rec.Offset))
		r.set("url", tables.Text(rec.TargetURI()))
		r.set("record_id", tables.Some(rec.ID()))
		r.set("side", tables.Text(side))
		if t, err := rec.Date(); err == nil {
			r.set("began", tables.Instant(t))
		}
		if err := r.fields(string(head), out); err != nil {
			return err
		}
	}
}

func (r row) fields(head string, out *Out) error {
	position := int64(0)
	var name, value string
	give := func() error {
		r.set("position", whole32(position))
		r.set("name", tables.Some(name))
		r.set("value", tables.Text(value))
		position++
		return out.Row(append(tables.Row(nil), r.r...))
	}
	begun := false
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "":
			continue
		case begun && position > 0 && (line[0] == ' ' || line[0] == '\t'):
			value += " " + strings.Trim(line, " \t") // RFC 9112 5.2
			continue
		}
		if begun {
			if err := give(); err != nil {
				return err
			}
		}
		if name, value = "", line; begun {
			var ok bool
			if name, value, ok = strings.Cut(line, ":"); !ok {
				name, value = "", line
			}
			name, value = strings.TrimRight(name, " \t"), strings.Trim(value, " \t")
		}
		begun = true
	}
	if !begun {
		return nil
	}
	return give()
}
