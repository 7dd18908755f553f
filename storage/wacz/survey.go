package wacz

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"curtsy/frontier/durable"
	told "curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/warc"
)

// survey is what the first pass finds.
type survey struct {
	dir      string // of temporary files
	segments []*segment

	seeds, unkept map[string]struct{} // ids of records: of seeds, and of pages that ask not to be archived
	titles        titles

	pages, extra *list
	main         *page // where a reader begins: the first seed that is a page, or else the first page
	first, last  time.Time

	records, noArchive, octets int64
	elsewhere                  int64 // revisits of answers that are older than the archive
}

func newSurvey(o Options) (_ *survey, err error) {
	s := &survey{dir: o.TempDir, seeds: map[string]struct{}{}, unkept: map[string]struct{}{}, titles: newTitles()}
	if s.pages, err = newList(s.dir, "pages", "Pages"); err != nil {
		return nil, err
	}
	if s.extra, err = newList(s.dir, "extraPages", "More pages"); err != nil {
		return nil, errors.Join(err, s.pages.spool.Close())
	}
	return s, nil
}

func (s *survey) close() error { return errors.Join(s.pages.spool.Close(), s.extra.spool.Close()) }

// readLines keeps of the ledger what the archive's records alone may not say.
func (s *survey) readLines(ctx context.Context, lines iter.Seq2[storage.Line, error]) error {
	if lines == nil {
		return nil
	}
	for l, err := range lines {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("wacz: read the ledger: %w", err)
		}
		if l.Time.After(s.last) {
			s.last = l.Time
		}
		if l.Record == "" {
			continue
		}
		if l.Kind == storage.KindSeed {
			s.seeds[l.Record] = struct{}{}
		}
		if storage.HasDirective(l.Directives, "noarchive") {
			s.unkept[l.Record] = struct{}{}
		}
	}
	return nil
}

// answered is an exchange's response or revisit until the records behind it, which may say more of it, are read.
type answered struct {
	id             string
	offset, length int64
	body, indexed  bool
	unkept         bool
	page           *page // nil for what is no page
}

func (s *survey) readSegment(ctx context.Context, path string) error {
	seg, err := newSegment(path)
	if err != nil {
		return err
	}
	for _, other := range s.segments {
		if other.name == seg.name {
			return fmt.Errorf("wacz: two segments have the name %s; rename one of them", seg.name)
		}
	}
	f, err := durable.Open(path)
	if err != nil {
		return fmt.Errorf("wacz: %w", err)
	}
	defer f.Close()
	m := newMeter()
	r := warc.NewReader(io.TeeReader(told.Reader(ctx, f), m))
	var last *answered
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := r.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err == nil {
			last, err = s.readRecord(seg, last, r, rec)
		}
		if err != nil {
			return fmt.Errorf("wacz: %s is damaged: %w; nothing was packed", path, err)
		}
	}
	if err := s.settle(seg, last); err != nil {
		return err
	}
	seg.print = m.print()
	if len(seg.cuts) > 0 {
		seg.whole = hex.EncodeToString(seg.print.sum[:])
		if err := seg.measure(ctx); err != nil {
			return err
		}
	}
	s.octets += seg.print.size
	s.segments = append(s.segments, seg)
	return nil
}

// readRecord reads one record to its end. It returns the answer that is not settled yet.
func (s *survey) readRecord(seg *segment, last *answered, r *warc.Reader, rec *warc.Record) (*answered, error) {
	s.dated(rec)
	switch rec.Type {
	case "response", "revisit":
		if err := s.settle(seg, last); err != nil {
			return nil, err
		}
		a, err := s.readAnswer(rec)
		if err != nil {
			return nil, err
		}
		end, err := r.End()
		a.length = end - a.offset
		return a, err
	case "metadata":
		if last != nil && rec.ConcurrentTo() == last.id {
			return last, readMetadata(rec.Block, last)
		}
	}
	if !cdxj.HasLine(rec) {
		return last, nil
	}
	// A resource or the like, in an archive of another crawler: it has a line of the index, and no more.
	if err := s.settle(seg, last); err != nil {
		return nil, err
	}
	end, err := r.End()
	return &answered{id: rec.ID(), offset: rec.Offset, length: end - rec.Offset, indexed: true}, err
}

// dated notes a record's date, and whether it repeats an answer of before the archive: one of another crawl (--dedup).
func (s *survey) dated(rec *warc.Record) {
	at, err := rec.Date()
	if err != nil {
		return
	}
	if at.After(s.last) {
		s.last = at
	}
	if s.first.IsZero() || at.Before(s.first) {
		s.first = at
	}
	if rec.Type != "revisit" {
		return
	}
	if of, err := time.Parse(time.RFC3339Nano, rec.Fields.Get("WARC-Refers-To-Date")); err == nil &&
		of.Before(s.first.Truncate(time.Second)) {
		s.elsewhere++
	}
}

// maxMetadata is how much of a metadata record is read: what matters here stands in front of the links.
const maxMetadata = 64 << 10

// readMetadata learns what the metadata record of an exchange says of its answer.
func readMetadata(block io.Reader, a *answered) error {
	b, err := io.ReadAll(io.LimitReader(block, maxMetadata))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(b) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		switch value = strings.TrimSpace(value); {
		case strings.EqualFold(name, "directives") && storage.HasDirective(value, "noarchive"):
			a.unkept = true
		case strings.EqualFold(name, "kind") && value == "seed" && a.page != nil:
			a.page.Seed = true
		}
	}
	return nil
}

// settle decides about an answer when all is known of it. Nil is none.
func (s *survey) settle(seg *segment, a *answered) error {
	if a == nil {
		return nil
	}
	if a.unkept && a.body {
		seg.leaveOut(a.offset, a.length)
		s.noArchive++
		return nil
	}
	if a.indexed {
		at, _ := seg.shift(a.offset)
		seg.records, s.records = seg.records+1, s.records+1
		seg.sum += place(at, a.length)
	}
	if a.page == nil || a.unkept {
		return nil
	}
	if s.main == nil || a.page.Seed && !s.main.Seed {
		s.main = a.page
	}
	to := s.pages
	if s.pages.n >= maxPages && !a.page.Seed {
		to = s.extra
	}
	return to.add(a.page)
}
