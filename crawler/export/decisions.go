package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/sorted"
	"curtsy/storage/tables"
)

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

// LostLines counts lines of a ledger that are missing, or lie in an unreadable part of a segment.
const LostLines = "ledger-lines-lost"

// Other reasons for lines without rows. Redacted and unreadable lines and marks have rows in the table of decisions.
const (
	tornLine  = "ledger-line-unfinished" // the last line, torn by a kill or still being written
	redacted  = "ledger-line-redacted"   // forgotten
	unread    = "ledger-line-unreadable"
	mark      = "ledger-mark"            // not a decision
	lostPart  = "ledger-part-unreadable" // with an unknown number of lines, or lines that LostLines counts
	wrongLine = "ledger-line-misplaced"  // has the index of an earlier line
)

// entry is a line of a ledger, possibly unreadable.
type entry struct {
	ledger.Entry
	unread     bool
	generation int64 // 0 if unknown
}

// entries calls see for each line of the ledger, with ascending indexes, and counts the lost lines.
func (c *Crawl) entries(ctx context.Context, out *Out, see func(e *entry) error) error {
	next, generation, torn := int64(0), int64(0), int64(0)
	for e, err := range ledger.Skim(filepath.Join(c.Dir, crawldir.LedgerName)) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		isUnread := e.Problem != nil && e.Problem.Fault == ledger.Unreadable
		switch {
		case e.Problem != nil && !isUnread:
			if e.Problem.Fault == ledger.Torn {
				out.Left(tornLine, 1)
				torn = 1
			}
			continue // curtsy audit reports it
		case e.Index < next && isUnread:
			out.Left(lostPart, 1)
			continue
		case e.Index < next:
			out.Left(wrongLine, 1)
			continue
		}
		if upto := c.upto(); upto >= 0 && e.Index >= upto {
			break
		}
		out.Left(LostLines, e.Index-next)
		next = e.Index + 1
		if e.Mark != nil && e.Mark.Kind == ledger.KindRun {
			if g := c.infos[e.Mark.Warcinfo]; g > 0 {
				generation = g
			}
		}
		if err := see(&entry{Entry: e, unread: isUnread, generation: generation}); err != nil {
			return err
		}
	}
	out.Left(LostLines, c.Size-next-torn) // the checkpoint's size reveals a missing end
	if c.seen < 0 {
		c.seen = next
	}
	return nil
}

// upto returns the index of the first entry that is not read, so that all tables have the same entries; -1 for none.
func (c *Crawl) upto() int64 {
	if c.Entries >= 0 {
		return c.Entries
	}
	return c.seen
}

// decided calls see for each decision of a ledger, and counts all other lines.
func (c *Crawl) decided(ctx context.Context, out *Out, see func(e *entry) error) error {
	return c.entries(ctx, out, func(e *entry) error {
		switch {
		case e.unread:
			out.Left(unread, 1)
		case e.Mark != nil:
			out.Left(mark, 1)
		case e.Forgotten:
			out.Left(redacted, 1)
		default:
			return see(e)
		}
		return nil
	})
}

// instant returns a non-null time: 1970 for none.
func instant(t time.Time) tables.Value {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return tables.Instant(t)
}

const mostSums = 1 << 14 // in memory

// sums adds values up by key in bounded memory: beyond mostSums, an external sort merges them.
type sums[S any] struct {
	add  func(to, more *S) // in any order
	held map[string]*S
	rest *sorted.Rows[*S]
}

func newSums[S any](in *Inputs, add func(to, more *S)) *sums[S] {
	return &sums[S]{add: add, held: map[string]*S{}, rest: sorted.NewRows[*S](in.temp, sortMemory)}
}

// of returns the sum of a key, which is valid until the next call.
func (s *sums[S]) of(key string) (*S, error) {
	if sum := s.held[key]; sum != nil {
		return sum, nil
	}
	if len(s.held) >= mostSums {
		if err := s.spill(); err != nil {
			return nil, err
		}
	}
	sum := new(S)
	s.held[key] = sum
	return sum, nil
}

func (s *sums[S]) spill() error {
	for _, key := range slices.Sorted(maps.Keys(s.held)) {
		if err := s.rest.Add(key, s.held[key]); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	clear(s.held)
	return nil
}

// all calls see for each key with its sum, in order.
func (s *sums[S]) all(see func(key []string, sum *S) error) error {
	if err := s.spill(); err != nil {
		return err
	}
	var last sorted.Row[*S]
	for row, err := range s.rest.All() {
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if last.Value != nil && row.Key == last.Key {
			s.add(last.Value, row.Value)
			continue
		}
		if last.Value != nil {
			if err := see(strings.Split(last.Key, keySep), last.Value); err != nil {
				return err
			}
		}
		last = row
	}
	if last.Value == nil {
		return nil
	}
	return see(strings.Split(last.Key, keySep), last.Value)
}

func (s *sums[S]) close(err error) error { return errors.Join(err, s.rest.Close()) }

// keySep separates the parts of a key. Parts contain neither it nor a smaller byte, so keys sort as their parts do.
const keySep = "\x01"

// keyOf joins parts as columns write them, without NUL and keySep.
func keyOf(parts ...string) string {
	for i, p := range parts {
		p = strings.ToValidUTF8(p, "\uFFFD")
		if strings.ContainsAny(p, "\x00\x01") {
			p = strings.NewReplacer("\x00", "\uFFFD", "\x01", "\uFFFD").Replace(p)
		}
		parts[i] = p
	}
	return strings.Join(parts, keySep)
}
