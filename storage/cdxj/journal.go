package cdxj

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"curtsy/frontier/durable"
	"curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/warc"
)

// Add implements warc.Index.
func (s *Store) Add(e warc.Entry) error {
	c := capture{Entry: e, original: worth(&e)}
	if e.HasPayload {
		var digits [2 * len(e.Payload)]byte
		hex.Encode(digits[:], e.Payload[:])
		c.digest = string(digits[:])
	}
	if err := s.add(&c); err != nil {
		return fmt.Errorf("cdxj: index %s at %d: %w", e.File, e.Offset, err)
	}
	return nil
}

func (s *Store) add(c *capture) error {
	if s.journal == nil || s.file != c.File {
		if err := s.begin(c.File); err != nil {
			return err
		}
	}
	s.line = c.append(s.line[:0])
	if _, err := s.journal.Write(s.line); err != nil {
		return err
	}
	return s.remember(c)
}

// remember makes the payload of c known, if it is worth it and not known yet.
func (s *Store) remember(c *capture) error {
	if !c.original {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known, err := s.known(c.Payload); known || err != nil {
		return err
	}
	at, err := s.log.add(&original{
		Payload: c.Payload, Original: storage.Original{URL: c.URL, Date: c.Date, ID: c.ID}, File: c.File, Offset: c.Offset,
	})
	if err != nil {
		return err
	}
	s.table.add(s.hash(&c.Payload), s.base+at)
	return nil
}

// begin begins the journal of a segment.
func (s *Store) begin(file string) error {
	if err := s.endJournal(); err != nil {
		return err
	}
	f, err := durable.Create(filepath.Join(s.index, indexName(file)+openSuffix))
	s.journal, s.file = f, file
	return err
}

func (s *Store) endJournal() error {
	if s.journal == nil {
		return nil
	}
	err := s.journal.Close()
	s.journal = nil
	return err
}

// Complete implements warc.Index. It sorts the journal.
func (s *Store) Complete(file string) error {
	if err := s.complete(context.Background(), file); err != nil {
		return fmt.Errorf("cdxj: complete the index of %s: %w", file, err)
	}
	return nil
}

func (s *Store) complete(ctx context.Context, file string) error {
	if s.journal == nil || s.file != file { // no capture in it
		if err := s.begin(file); err != nil {
			return err
		}
	}
	if err := s.endJournal(); err != nil {
		return err
	}
	if err := s.log.f.Sync(); err != nil { // first: an index says that its segment's originals are known
		return err
	}
	to := filepath.Join(s.index, indexName(file))
	if err := sortFile(ctx, to+openSuffix, to, s.index); err != nil {
		return err
	}
	if err := durable.Names(s.index); err != nil {
		return err
	}
	if s.finished != nil {
		octets, sum, err := durable.Digest(ctx, to)
		if err != nil {
			return err
		}
		if err := s.finished(indexName(file), octets, sum); err != nil {
			return err
		}
	}
	_ = os.Remove(to + openSuffix) // Windows removes no file that a reader has open; the next Open does it then
	return nil
}

// Mended implements warc.Index.
func (s *Store) Mended(path, file string, end int64, removed bool) error {
	s.mu.Lock()
	if removed {
		end = 0
	}
	_, err := s.log.add(&original{Cut: true, File: file, Offset: end})
	s.mu.Unlock()
	switch {
	case err != nil:
	case removed:
		if err = os.Remove(filepath.Join(s.index, indexName(file)+openSuffix)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	default:
		err = s.remake(context.Background(), path, file, false)
	}
	if err != nil {
		return fmt.Errorf("cdxj: rewrite index %s: %w", file, err)
	}
	return nil
}

// remake writes the journal of a segment again, from the segment at path. One that is damaged is no reason to end the
// crawl: the journal has the records that can be read, and Damaged reports the rest. A segment that was left open may end
// within a record.
func (s *Store) remake(ctx context.Context, path, file string, open bool) error {
	if err := s.begin(file); err != nil {
		return err
	}
	f, err := durable.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var first warc.Finding
	n := 0
	found := func(f warc.Finding) {
		if f.Note() || open && f.Code == warc.Torn {
			return
		}
		if n++; n == 1 {
			first = f
		}
	}
	_, err = scan(ctx, meter.Reader(ctx, f), file, found, func(c *capture) error {
		switch {
		case c.damaged: // nothing may refer to it
			return nil
		case c.Length <= 0:
			found(warc.Finding{Offset: c.Offset, Code: NoIndex, Text: "it shares its gzip member with others"})
			return nil
		}
		return s.add(c)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if n > 0 {
		s.damaged = append(s.damaged, fmt.Sprintf("%s is damaged at byte %d (%s), and in %d places in total: the index has the readable part", path, first.Offset, first.Text, n))
	}
	return nil
}
