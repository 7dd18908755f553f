package mirror

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// Archive is the source of a mirror.
type Archive struct {
	Segments []string // WARC files of any crawler, with different names
	Index    []string // CDXJ files: NAME.cdxj for NAME.warc.gz. A segment without one is indexed first.
	Ledger   string   // directory of the ledger, which has the reasons for missing URLs; "": those in the archive
}

// CrawlArchive returns the archive of a crawl directory. The caller must exclude a writer.
func CrawlArchive(dir string) (Archive, error) {
	var a Archive
	entries, err := os.ReadDir(filepath.Join(dir, "warc"))
	if err != nil {
		return a, fmt.Errorf("mirror: %s has no archive: %w", dir, err)
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".open")
		if (strings.HasSuffix(name, ".warc.gz") || strings.HasSuffix(name, ".warc")) && e.Type().IsRegular() {
			a.Segments = append(a.Segments, filepath.Join(dir, "warc", e.Name()))
		}
	}
	if len(a.Segments) == 0 {
		return a, fmt.Errorf("mirror: %s holds no WARC file", filepath.Join(dir, "warc"))
	}
	paths, err := cdxj.Files(filepath.Join(dir, "index"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return a, fmt.Errorf("mirror: %w", err)
	}
	a.Index = paths
	if _, err := os.Stat(filepath.Join(dir, "ledger")); err == nil {
		a.Ledger = filepath.Join(dir, "ledger")
	}
	return a, nil
}

type opened struct {
	segments []string // paths, sorted by name
	names    []string // as in the lines of an index
	index    []string // paths of sorted CDXJ files
	notes    []string // damage found in segments
}

// openArchive finds the index of each segment, or creates it in temp. It always indexes an open segment, whose journal is
// unsorted and may lag behind.
func openArchive(ctx context.Context, a Archive, temp string) (*opened, error) {
	o := &opened{segments: slices.Clone(a.Segments)}
	slices.SortFunc(o.segments, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	indexes := map[string]string{}
	for _, path := range a.Index {
		indexes[filepath.Base(path)] = path
	}
	stems := map[string]int{}
	for _, path := range o.segments {
		stems[stemOf(path)]++
	}
	for i, path := range o.segments {
		name := filepath.Base(path)
		if i > 0 && name == o.names[i-1] {
			return nil, fmt.Errorf("mirror: two WARC files are called %s: an index cannot distinguish them; rename one", name)
		}
		o.names = append(o.names, name)
		index := indexes[stemOf(path)+".cdxj"]
		reindex := index == "" || strings.HasSuffix(name, ".open") || stems[stemOf(path)] > 1
		if !reindex {
			wrong := cdxj.Sound(index)
			if reindex = wrong != nil; reindex && !errors.Is(wrong, cdxj.ErrEmpty) {
				o.notes = append(o.notes, wrong.Error()+"; the archive was read instead")
			}
		}
		if reindex {
			index = filepath.Join(temp, strconv.Itoa(i)+indexEnd)
			if err := o.makeIndex(ctx, index, path); err != nil {
				return nil, err
			}
		}
		o.index = append(o.index, index)
	}
	return o, nil
}

// stemOf returns the name of a segment without extensions, which its index has. Of two segments with one stem, either may
// have the index.
func stemOf(segment string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(segment), ".open"), ".gz"), ".warc")
}

func (o *opened) makeIndex(ctx context.Context, index, segment string) (err error) {
	f, err := durable.Create(index)
	if err != nil {
		return fmt.Errorf("mirror: index %s: %w", segment, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if fi, err := os.Stat(segment); err == nil && fi.Size() == 0 {
		o.notes = append(o.notes, segment+": it is empty") // left by a crawl killed right after creating it
		return nil
	}
	w := bufio.NewWriterSize(f, 64<<10)
	found := func(path string, f warc.Finding) {
		if !f.Note() && len(o.notes) < maxNotes {
			o.notes = append(o.notes, fmt.Sprintf("%s: at byte %d: %s: %.200q", path, f.Offset, f.Code, f.Text))
		}
	}
	if err := cdxj.Index(ctx, w, found, segment); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return w.Flush()
}

// segment returns the number of a segment by its name in an index.
func (o *opened) segment(name string) (int, bool) {
	name = filepath.Base(name)
	if i, ok := slices.BinarySearch(o.names, name); ok {
		return i, true
	}
	return slices.BinarySearch(o.names, name+".open")
}

// decisions yields the crawler's decisions: from the ledger in dir or, if that is "", from the archive, which has the same.
func (o *opened) decisions(dir string) iter.Seq2[storage.Line, error] {
	if dir != "" {
		return ledger.Read(dir)
	}
	return func(yield func(storage.Line, error) bool) {
		for _, path := range o.segments {
			if !decisionsIn(path, yield) {
				return
			}
		}
	}
}

func decisionsIn(path string, yield func(storage.Line, error) bool) bool {
	f, err := durable.Open(path)
	if err != nil {
		return yield(storage.Line{}, err)
	}
	defer f.Close()
	for in := warc.NewLenient(f, nil); ; {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return yield(storage.Line{}, err)
		}
		if !strings.EqualFold(rec.Type, "metadata") {
			continue
		}
		if rec.IsRefusals() {
			for l, err := range warc.ParseRefusals(rec.Block) {
				if !yield(l, err) {
					return false
				}
			}
			continue
		}
		// Metadata records of other crawlers have no decision.
		if l, _, err := rec.Metadata(); err == nil && l.Decision != "" && !yield(l, nil) {
			return false
		}
	}
}

// damaged is an error of a response, not of this machine.
type damaged struct{ error }

func (d damaged) Unwrap() error { return d.error }

func damage(err error) (state, bool) {
	var d damaged
	switch {
	case !errors.As(err, &d):
		return 0, false
	case errors.Is(err, warc.ErrTooLarge):
		return isTooLarge, true
	}
	return isDamaged, true
}

type source struct {
	in    *warc.Lenient
	wrong string // code of the damage found in it
}

func (s *source) found(f warc.Finding) {
	switch f.Code {
	case warc.DamagedMember, warc.ShortMember, warc.Torn, warc.NoEnd:
		s.wrong = f.Code
	}
}

// whole reads the rest of the record, up to its checksum.
func (s *source) whole() error {
	if _, err := s.in.End(); err != nil {
		return asDamage(err)
	}
	if s.wrong != "" {
		return damaged{errors.New(s.wrong)}
	}
	return nil
}

// body reads a response's body and marks errors of its content, as opposed to those of reading the archive file.
type body struct{ r io.Reader }

func (b body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, asDamage(err)
}

// ours reports whether an error is one of a file system, not of a file's content.
func ours(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}

func asDamage(err error) error {
	if ours(err) {
		return err
	}
	return damaged{err}
}

type place struct {
	segment        int32
	offset, length int64
}

// version is an archived response with its decision.
type version struct {
	*answer.Answer
	at        place
	sniffed   string // media type by its first bytes, if it names none
	noArchive bool
	decision  storage.Decision // of the metadata record; "" without one
	linked    bool             // it is also the outcome of a URL found, not only a request of the crawler for itself
}

// status returns the status if the head is complete, else 0.
func (v *version) status() int {
	if !v.Complete {
		return 0
	}
	return v.Status
}

// headOctets is how much of an archived response is read for its head: compressed, some 3 KiB.
const headOctets = 1 << 10

func (o *opened) read(from *warc.Places, at place) (*version, error) {
	a, err := o.readHead(from, at, warc.Stretch{Offset: at.offset, Length: headOctets, Only: true})
	if err != nil { // the head is longer or damaged, or the type depends on the body
		a, err = o.readHead(from, at, warc.Stretch{Offset: at.offset, Length: at.length})
	}
	if err != nil {
		return nil, err
	}
	o.readMetadata(from, a)
	return a, nil
}

var errShort = errors.New("the head continues")

// readHead reads a response's head from a stretch of the file. A longer stretch gives the same result.
func (o *opened) readHead(from *warc.Places, at place, s warc.Stretch) (*version, error) {
	in, err := from.Lenient(o.segments[at.segment], s, nil)
	if err != nil {
		return nil, err
	}
	rec, err := in.Next()
	if err != nil {
		return nil, err
	}
	if rec.Offset != at.offset {
		return nil, fmt.Errorf("no record at byte %d", at.offset)
	}
	head, err := answer.Read(rec, 0)
	if err != nil {
		return nil, err
	}
	if head.Undated != nil {
		return nil, head.Undated
	}
	v := &version{Answer: head, at: at}
	for _, value := range v.Header.Values("X-Robots-Tag") { // to all robots; the metadata has the directives that the crawler understood
		v.noArchive = v.noArchive || storage.HasDirective(value, "noarchive") || storage.HasDirective(value, "nocache")
	}
	sniffs := !v.Revisit && v.status()/100 == 2 && v.Type().Unnamed()
	if s.Only && (sniffs || !v.Complete) {
		return nil, errShort
	}
	if sniffs {
		v.sniffed = v.Sniff()
	}
	return v, nil
}

// metadataOctets is the first read of a metadata record: more than most have.
const metadataOctets = 2 << 10

// readMetadata takes the decision from the metadata record after a response, if there is one.
func (o *opened) readMetadata(from *warc.Places, a *version) {
	if a.at.length <= 0 {
		return
	}
	in, err := from.Lenient(o.segments[a.at.segment],
		warc.Stretch{Offset: a.at.offset + a.at.length, Length: metadataOctets}, nil)
	if err != nil {
		return
	}
	rec, err := in.Next()
	if err != nil {
		return
	}
	line, ok := answer.Decision(rec, a.ID)
	if !ok {
		return
	}
	a.decision, a.linked = line.Decision, line.Kind != ""
	a.noArchive = a.noArchive || storage.HasDirective(line.Directives, "noarchive")
}

// maxReferences bounds chains of revisits.
const maxReferences = 4

// original returns the response that has the body of a: itself, or the original of a revisit.
func (o *opened) original(from *warc.Places, a *version, url string) (*version, error) {
	for range maxReferences {
		if !a.Revisit {
			return a, nil
		}
		if a.Refers.URL != "" {
			url = a.Refers.URL
		}
		next, err := o.refersTo(from, a, url)
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		a = next
	}
	return nil, nil
}

// refersTo finds the original of a revisit among the captures of a URL.
func (o *opened) refersTo(from *warc.Places, a *version, url string) (*version, error) {
	date := a.Refers.Date
	want := answer.Digest(a.Digest)
	var best *version
	reads := 0
	for l, err := range cdxj.Lookup(o.index, url) {
		if err != nil {
			return nil, err
		}
		seg, ok := o.segment(l.Filename)
		sameTime := !date.IsZero() && l.Time.Equal(date.Truncate(time.Second))
		sameBody := want != "" && answer.Digest(l.Digest) == want
		if !ok || l.Time.After(a.Date) || !sameTime && !sameBody || l.Offset == a.at.offset && int32(seg) == a.at.segment {
			continue
		}
		if reads++; reads > maxHistory {
			break
		}
		b, err := o.read(from, place{int32(seg), l.Offset, l.Length}) //nolint:gosec // there are fewer segments
		if ours(err) {
			return nil, err
		}
		if err != nil || want != "" && b.Digest != "" && answer.Digest(b.Digest) != want {
			continue
		}
		if b.ID == a.Refers.ID && b.ID != "" {
			return b, nil
		}
		if best == nil || nearer(b, best, date) < 0 {
			best = b
		}
	}
	return best, nil
}

// nearer orders candidates for a revisit's original: with a body first, then with the date it names, then later ones.
func nearer(a, b *version, date time.Time) int {
	rank := func(no bool) int {
		if no {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(rank(a.Revisit), rank(b.Revisit)),
		cmp.Compare(rank(!a.Date.Equal(date)), rank(!b.Date.Equal(date))),
		b.Date.Compare(a.Date), strings.Compare(a.ID, b.ID))
}
