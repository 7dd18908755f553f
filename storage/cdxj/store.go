package cdxj

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"curtsy/frontier/durable"
	"curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/sorted"
	"curtsy/storage/warc"
)

const (
	indexDir     = "index"
	warcDir      = "warc"
	suffix       = ".cdxj"
	openSuffix   = ".open" // after suffix and warcSuffix: being written
	newSuffix    = ".new"  // until renamed when whole
	warcSuffix   = ".warc.gz"
	maxNotedPath = 200
)

func indexName(file string) string { return strings.TrimSuffix(file, warcSuffix) + suffix }

// Options configure a Store.
type Options struct {
	Earlier []string // CDXJ files of earlier crawls, for their payloads

	// Finished, unless nil, gets each sorted index once its name (without directory) is durable: its size in bytes and
	// their SHA-256. A rebuilt index is the same and reported again. If its effect is durable, a kill loses at most the
	// call for the last file, as with warc.Options.Finished.
	Finished func(name string, octets int64, sum [32]byte) error
}

// Store is the index of a running crawl. It implements warc.Index and warc.Originals.
type Store struct {
	index, archive string
	notes          []string
	damaged        []string
	seed           maphash.Seed
	finished       func(name string, octets int64, sum [32]byte) error // or nil
	journal        *os.File                                            // of the segment named file; nil between two
	file           string
	line           []byte

	mu       sync.RWMutex // guards the fields below
	table    *table       // nil during a rebuild, which looks nothing up
	next     int64        // the first free place in the table
	void     map[Place]bool
	earlier  []*earlier
	segments []segment // by base; they follow the places of earlier indexes
}

// Place is the place of a record in the archive.
type Place struct {
	File   string // without its directory
	Offset int64
}

var (
	_ warc.Index     = (*Store)(nil)
	_ warc.Originals = (*Store)(nil)
)

// Open opens or begins the index in the crawl directory dir and reads the indexes of earlier crawls. It creates a missing
// index of a complete segment, which reads the whole segment; if ctx interrupts it, the next Open repeats that. Open the
// archive after the Store, and close it before.
func Open(ctx context.Context, dir string, o Options) (_ *Store, err error) {
	s := &Store{index: filepath.Join(dir, indexDir), archive: filepath.Join(dir, warcDir), seed: maphash.MakeSeed(),
		finished: o.Finished, table: new(table), void: map[Place]bool{}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("cdxj: open the index: %w", errors.Join(err, s.release()))
		}
	}()
	if err := durable.MakeFolder(s.index); err != nil {
		return nil, err
	}
	if err := tidy(s.index); err != nil {
		return nil, err
	}
	for _, path := range o.Earlier {
		if err := s.openEarlier(ctx, path); err != nil {
			return nil, err
		}
	}
	return s, s.catchUp(ctx)
}

func tidy(index string) error {
	entries, err := os.ReadDir(index)
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, newSuffix) || strings.HasPrefix(name, sorted.Prefix) {
			err = errors.Join(err, os.Remove(filepath.Join(index, name)))
		}
	}
	return err
}

func (s *Store) openEarlier(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file; name the CDXJ files in it", path)
	}
	if err != nil {
		f.Close()
		return err
	}
	e := &earlier{path: path, f: f, base: s.next, size: fi.Size()}
	s.earlier, s.next = append(s.earlier, e), s.next+fi.Size()
	n := 0
	var failed error
	other, bad, err := originalsIn(ctx, io.NewSectionReader(f, 0, e.size), func(d [32]byte, _ *Line, at int64) {
		_, known, err := s.known(d)
		failed = cmp.Or(failed, err)
		if known {
			n++
		} else if err == nil && s.put(d, e.base+at) {
			n++
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	shown := path[max(0, len(path)-maxNotedPath):]
	if other > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s: %d captures have digests other than SHA-256; new responses cannot be compared with them", shown, other))
	}
	if bad > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s: %d lines are not CDXJ and were skipped", shown, bad))
	}
	if n == 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s: no payload in it can be referred to", shown))
	}
	return nil
}

// Notes returns messages for users about the earlier indexes.
func (s *Store) Notes() []string { return s.notes }

// Damaged returns messages for users about segments and indexes that could not be read completely.
func (s *Store) Damaged() []string { return s.damaged }

// catchUp reads the payloads of the complete segments and creates missing indexes.
func (s *Store) catchUp(ctx context.Context) error {
	segments, open, err := segmentsIn(s.archive)
	if err != nil {
		return err
	}
	for _, file := range segments {
		err := s.learn(ctx, file)
		if errors.Is(err, fs.ErrNotExist) {
			if err = s.remake(ctx, filepath.Join(s.archive, file), file, false); err == nil {
				err = s.complete(ctx, file)
			}
		}
		if err != nil {
			return err
		}
	}
	return s.dropJournals(open)
}

func (s *Store) learn(ctx context.Context, file string) error {
	path := filepath.Join(s.index, indexName(file))
	f, err := durable.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s.startSegment(file)
	_, bad, err := originalsIn(ctx, f, func(d [32]byte, l *Line, _ int64) { s.place(d, l.Offset) })
	if err == nil && bad > 0 {
		err = fmt.Errorf("lines that are not CDXJ: %d", bad)
	}
	if err != nil && ctx.Err() == nil {
		s.damaged = append(s.damaged, fmt.Sprintf("%s is damaged (%v), so some responses that the archive has already are archived again", path, err))
	}
	return ctx.Err()
}

// startSegment gives the records of a segment their places, after all others.
func (s *Store) startSegment(file string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments = append(s.segments, segment{file, s.next})
	s.next++ // so that bases differ
}

func (s *Store) place(payload [32]byte, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.segments[len(s.segments)-1].base + offset
	if s.put(payload, at) {
		s.next = max(s.next, at+1)
	}
}

// maxPlaces bounds the places of one payload. An index may list any number that cannot be originals (robots.txt,
// truncated responses), and each would be read for each similar response.
const maxPlaces = 16

// put adds a place to the table if there is room. The caller holds mu.
func (s *Store) put(payload [32]byte, at int64) bool {
	hash, n := s.hash(&payload), 0
	s.table.find(hash, func(int64) { n++ })
	return n < maxPlaces && s.table.add(hash, at)
}

// dropJournals removes journals of segments that are not open, left by a kill or an interrupted rebuild.
func (s *Store) dropJournals(open []string) error {
	paths, err := Files(s.index)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, file := range open {
		keep[indexName(file)+openSuffix] = true
	}
	for _, path := range paths {
		if strings.HasSuffix(path, openSuffix) && !keep[filepath.Base(path)] {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// segmentsIn returns the final names of an archive's complete and open segments.
func segmentsIn(archive string) (complete, open []string, err error) {
	entries, err := os.ReadDir(archive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, warcSuffix) {
			complete = append(complete, name)
		} else if name, ok := strings.CutSuffix(name, warcSuffix+openSuffix); ok {
			open = append(open, name+warcSuffix)
		}
	}
	return complete, open, err
}

func (s *Store) hash(payload *[32]byte) uint64 { return maphash.Bytes(s.seed, payload[:]) }

// Original implements warc.Originals.
func (s *Store) Original(payload [32]byte) (o storage.Original, known bool, err error) {
	if o, known, err = s.known(payload); err != nil {
		err = fmt.Errorf("cdxj: look up the payload %x: %w", payload, err)
	}
	return o, known, err
}

// known is Original without the error's context. It prefers the last record: the ones before were unreadable when that
// was archived. It reads records without the lock.
func (s *Store) known(payload [32]byte) (o storage.Original, known bool, err error) {
	places := s.places(payload)
	slices.Sort(places)
	for _, at := range slices.Backward(places) {
		if o, known, err = s.at(at, payload); known || err != nil {
			return o, known, err
		}
	}
	return o, false, nil
}

func (s *Store) places(payload [32]byte) (all []int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.table.find(s.hash(&payload), func(at int64) { all = append(all, at) })
	return all
}

// at returns the original at a place, if it is readable.
func (s *Store) at(place int64, payload [32]byte) (o storage.Original, known bool, err error) {
	s.mu.RLock()
	i, found := slices.BinarySearchFunc(s.segments, place, func(g segment, at int64) int { return cmp.Compare(g.base, at) })
	if !found {
		i--
	}
	if i < 0 {
		s.mu.RUnlock()
		i, _ = slices.BinarySearchFunc(s.earlier, place, func(e *earlier, at int64) int { return cmp.Compare(e.base+e.size-1, at) })
		return s.earlier[i].at(place-s.earlier[i].base, payload)
	}
	in := Place{s.segments[i].file, place - s.segments[i].base}
	void := s.void[in]
	s.mu.RUnlock()
	if void {
		return o, false, nil
	}
	// Windows may rename the segment meanwhile: package durable opens files so that this works.
	o, known, err = originalAt(filepath.Join(s.archive, in.File)+openSuffix, durable.Open, in.Offset, payload) // or under its final name
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrForeign) {
		err = nil
	}
	return o, known, err
}

// Void excludes the unreadable record at a place as an original. It may be called concurrently.
func (s *Store) Void(at Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.void[at] = true
}

// Close releases the index. Close the archive before, which completes the last segment.
func (s *Store) Close() error {
	if err := s.release(); err != nil {
		return fmt.Errorf("cdxj: close the index: %w", err)
	}
	return nil
}

func (s *Store) release() error {
	errs := []error{s.endJournal()}
	for _, e := range s.earlier {
		errs = append(errs, e.f.Close())
	}
	return errors.Join(errs...)
}

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

// remember adds the payload of c to the table if it may be an original and is not known.
func (s *Store) remember(c *capture) error {
	if !c.original || s.table == nil {
		return nil
	}
	_, known, err := s.known(c.Payload)
	if !known && err == nil {
		s.place(c.Payload, c.Offset)
	}
	return err
}

func (s *Store) begin(file string) error {
	s.startSegment(file)
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
	if s.journal == nil || s.file != file { // it has no capture
		if err := s.begin(file); err != nil {
			return err
		}
	}
	if err := s.endJournal(); err != nil {
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
	_ = os.Remove(to + openSuffix) // fails on Windows while a reader has it open; the next Open removes it then
	return nil
}

// Mended implements warc.Index.
func (s *Store) Mended(path, file string, _ int64, removed bool) (err error) {
	if !removed {
		err = s.remake(context.Background(), path, file, false)
	} else if err = os.Remove(filepath.Join(s.index, indexName(file)+openSuffix)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("cdxj: rewrite index %s: %w", file, err)
	}
	return nil
}

// remake rewrites the journal of the segment at path. Damage does not end the crawl: the journal has the readable
// records, and Damaged reports the rest. An open segment may end within a record.
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
		case c.damaged: // it cannot be an original
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

// Rebuild rewrites the index in indexDir from the archive in warcDir, while nobody writes either. An open segment gets a
// journal up to its torn end. It removes indexes of missing segments, and calls damaged, unless nil, for each segment
// that it cannot read completely.
func Rebuild(ctx context.Context, warcDir, indexDir string, damaged func(what string)) error {
	if damaged == nil {
		damaged = func(string) {}
	}
	if err := rebuild(ctx, warcDir, indexDir, damaged); err != nil {
		return fmt.Errorf("cdxj: rebuild the index: %w", err)
	}
	return nil
}

func rebuild(ctx context.Context, archive, index string, damaged func(string)) (err error) {
	if _, err := os.Stat(archive); err != nil {
		return err
	}
	complete, open, err := segmentsIn(archive)
	if err != nil {
		return err
	}
	if err := durable.MakeFolder(index); err != nil {
		return err
	}
	if err := tidy(index); err != nil {
		return err
	}
	s := &Store{index: index, archive: archive}
	defer func() { err = errors.Join(err, s.release()) }()
	made := map[string]bool{}
	for _, file := range complete {
		if err := s.remake(ctx, filepath.Join(archive, file), file, false); err != nil {
			return err
		}
		if err := s.complete(ctx, file); err != nil {
			return err
		}
		made[indexName(file)] = true
	}
	for _, file := range open {
		if err := s.remake(ctx, filepath.Join(archive, file)+openSuffix, file, true); err != nil {
			return err
		}
		made[indexName(file)+openSuffix] = true
	}
	for _, what := range s.damaged {
		damaged(what)
	}
	return errors.Join(removeOthers(index, made), durable.Names(index))
}

func removeOthers(index string, made map[string]bool) error {
	entries, err := os.ReadDir(index)
	for _, e := range entries {
		name := e.Name()
		if !made[name] && strings.HasSuffix(strings.TrimSuffix(name, openSuffix), suffix) {
			err = errors.Join(err, os.Remove(filepath.Join(index, name)))
		}
	}
	return err
}
