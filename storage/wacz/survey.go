package wacz

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"iter"
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"curtsy/frontier/durable"
	told "curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
	"curtsy/storage/warc"
)

// survey is the result of the first pass.
type survey struct {
	dir      string // of temporary files
	segments []*segment

	seeds, unkept map[string]struct{} // ids of records: of seeds, and of noarchive pages
	titles        titles
	index         *sorted.Sorter // lines

	pages, extra *list
	main         *page // the start page for readers: the first seed that is a page, or else the first page
	first, last  time.Time

	records, noArchive, octets int64
	elsewhere                  int64 // revisits of responses older than the archive
}

func newSurvey(o Options) (_ *survey, err error) {
	s := &survey{dir: o.TempDir, seeds: map[string]struct{}{}, unkept: map[string]struct{}{}, titles: titles{}, index: sorted.New(o.TempDir, sortLimit)}
	if s.pages, err = newList(s.dir, "pages", "Pages"); err != nil {
		return nil, err
	}
	if s.extra, err = newList(s.dir, "extraPages", "More pages"); err != nil {
		return nil, errors.Join(err, s.pages.spool.Close())
	}
	return s, nil
}

func (s *survey) close() error {
	return errors.Join(s.pages.spool.Close(), s.extra.spool.Close(), s.index.Close())
}

// readLines keeps seeds and noarchive of the ledger, which the archive's records may lack.
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

// answered is a response or revisit until the records after it are read.
type answered struct {
	id             string
	offset, length int64
	body           bool
	unkept         bool
	line           *cdxj.Line // of the index, or nil
	page           *page      // or nil
}

func (s *survey) readSegment(ctx context.Context, path string) error {
	seg := &segment{path: path, name: filepath.Base(path)}
	// WACZ, archive: files that are GZIP encoded must use the extension .warc.gz.
	if !plainName(seg.name) || !strings.HasSuffix(seg.name, ".warc.gz") {
		return fmt.Errorf("wacz: %q cannot be packed: the name of a segment is letters, digits, dots and dashes, and ends in .warc.gz", seg.name)
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

// readRecord reads one record to its end and returns the unsettled answer.
func (s *survey) readRecord(seg *segment, last *answered, r *warc.Reader, rec *warc.Record) (*answered, error) {
	s.dated(rec)
	line, err := cdxj.LineOf(rec, seg.name)
	if err != nil {
		return nil, err
	}
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
		a.length, a.line = end-a.offset, line
		return a, err
	case "metadata":
		if last != nil && rec.ConcurrentTo() == last.id {
			l, _ := rec.Decision() // other crawlers' lines may be unreadable; the next read reports damage
			last.unkept = last.unkept || storage.HasDirective(l.Directives, "noarchive")
			if l.Kind == storage.KindSeed && last.page != nil {
				last.page.Seed = true
			}
			return last, nil
		}
	}
	if line == nil {
		return last, nil
	}
	// A resource or the like of another crawler: it has only a line of the index.
	if err := s.settle(seg, last); err != nil {
		return nil, err
	}
	end, err := r.End()
	return &answered{id: rec.ID(), offset: rec.Offset, length: end - rec.Offset, line: line}, err
}

// dated notes a record's date, and whether it is a revisit of a response from another, earlier crawl (--dedup).
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

// settle adds an answer, if not nil, once all about it is known.
func (s *survey) settle(seg *segment, a *answered) error {
	if a == nil {
		return nil
	}
	if a.unkept && a.body {
		seg.cuts, seg.lost = append(seg.cuts, cut{a.offset, a.length}), seg.lost+a.length
		s.noArchive++
		return nil
	}
	if a.line != nil {
		s.records++
		a.line.Offset, a.line.Length = a.offset-seg.lost, a.length
		if err := s.index.Add(a.line.Append(nil)); err != nil {
			return fmt.Errorf("wacz: sort the index: %w", err)
		}
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
	to.n++
	return to.line(a.page)
}

// segment is a file of the archive to be packed.
type segment struct {
	path, name string
	print      print
	cuts       []cut  // records omitted, in order
	lost       int64  // bytes omitted so far
	whole      string // hex SHA-256 of the original file, if there are cuts
}

// cut is a member to omit.
type cut struct{ offset, length int64 }

func (s *segment) open() (io.Reader, io.Closer, error) {
	f, err := durable.Open(s.path)
	if err != nil {
		return nil, nil, fmt.Errorf("wacz: %w", err)
	}
	if len(s.cuts) == 0 {
		return f, f, nil
	}
	var parts []io.Reader
	at := int64(0)
	for _, c := range s.cuts {
		parts = append(parts, io.NewSectionReader(f, at, c.offset-at))
		at = c.offset + c.length
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("wacz: %w", err)
	}
	parts = append(parts, io.NewSectionReader(f, at, fi.Size()-at))
	return io.MultiReader(parts...), f, nil
}

func (s *segment) measure(ctx context.Context) error {
	r, c, err := s.open()
	if err != nil {
		return err
	}
	defer c.Close()
	m := newMeter()
	if _, err := copyAll(ctx, m, r); err != nil {
		return fmt.Errorf("wacz: read %s: %w", s.path, err)
	}
	s.print = m.print()
	return nil
}

// plainName reports whether a name, with slashes, is safe on every system.
func plainName(name string) bool {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.Trim(part, safe) != "" {
			return false
		}
	}
	return true
}

type print struct {
	size int64
	sum  [sha256.Size]byte
	crc  uint32
}

type meter struct {
	size int64
	sum  hash.Hash
	crc  hash.Hash32
}

func newMeter() *meter { return &meter{sum: sha256.New(), crc: crc32.NewIEEE()} }

func (m *meter) Write(p []byte) (int, error) {
	m.size += int64(len(p))
	m.sum.Write(p) //nolint:errcheck // a hash never fails
	m.crc.Write(p) //nolint:errcheck // a hash never fails
	return len(p), nil
}

func (m *meter) print() print {
	return print{m.size, [sha256.Size]byte(m.sum.Sum(nil)), m.crc.Sum32()}
}

func copyAll(ctx context.Context, w io.Writer, r io.Reader) (n int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		m, err := io.CopyN(w, r, 1<<20)
		if n += m; errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// maxBlock bounds the part of a block read for its title.
const maxBlock = 1 << 20

// readAnswer reads a response or revisit record as far as the page list needs.
func (s *survey) readAnswer(rec *warc.Record) (*answered, error) {
	a := &answered{id: rec.ID(), offset: rec.Offset}
	_, a.unkept = s.unkept[a.id]
	uri := rec.TargetURI()
	got, err := answer.Read(rec, maxBlock)
	if err != nil {
		return nil, err
	}
	// Without a complete head, everything may be body; at worst, more is omitted.
	a.body = got.Revisit || !got.Complete || rec.Length > got.Head
	web := strings.HasPrefix(uri, "http:") || strings.HasPrefix(uri, "https:")
	if got.Undated != nil || !web || got.Status != http.StatusOK || !a.body || a.unkept {
		return a, nil // not a page
	}
	_, seed := s.seeds[a.id]
	p := &page{ID: strings.TrimPrefix(a.id, "urn:uuid:"), URL: uri, Time: stamp(got.Date), Seed: seed}
	media := got.Type()
	if got.Revisit {
		title, known := s.titles[got.Digest]
		if media.IsHTML() || media.Unnamed() && known {
			p.Title, a.page = title, p
		}
		return a, nil
	}
	body := bodyOf(got)
	head, _ := body.Peek(mediatype.MaxSniff)
	if !media.IsPage(head) {
		return a, nil
	}
	p.Size, p.Title, a.page = rec.Length, titleOf(body, got.Charset(head)), p
	s.titles.keep(got.Digest, p.Title)
	return a, nil
}

// bodyOf decodes the first bytes of a response's body; an unreadable one counts as empty.
func bodyOf(a *answer.Answer) *bufio.Reader {
	body, err := a.Body(maxDecoded)
	if err != nil {
		body = strings.NewReader("")
	}
	return bufio.NewReaderSize(body, 4<<10)
}

// Bounds of a search for a title.
const (
	maxDecoded = 512 << 10 // bytes without their content coding
	maxTitle   = 300       // characters
	maxToken   = 64 << 10  // bytes of one tag or text
)

// titleOf returns the title of an HTML page, or "" if none is found within the bounds. Nothing on the page is an error.
// label is the charset by the server, if any.
func titleOf(body io.Reader, label string) string {
	text, err := charset.NewReader(body, mime.FormatMediaType("text/html", map[string]string{"charset": label}))
	if err != nil {
		return ""
	}
	z := html.NewTokenizer(text)
	z.SetMaxBuf(maxToken)
	drawing := 0 // SVG images have their own titles
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			switch name, _ := z.TagName(); string(name) {
			case "svg":
				drawing++
			case "title":
				if drawing > 0 {
					continue
				}
				if z.Next() != html.TextToken {
					return ""
				}
				title := tidy(string(z.Text()))
				if z.Next() != html.EndTagToken { // it is truncated
					return ""
				}
				return title
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "svg" && drawing > 0 {
				drawing--
			}
		}
	}
}

// tidy removes line ends and control characters, and cuts a text to maxTitle characters.
func tidy(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	n := 0
	s = strings.Map(func(r rune) rune {
		if n++; unicode.IsControl(r) || n > maxTitle {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// titles are those of pages by payload digest, for revisits.
type titles map[string]string

// rememberedTitles bounds the titles before all are dropped. A revisit of a dropped page has no title in the list.
const rememberedTitles = 16 << 10

func (t titles) keep(payload, title string) {
	if payload == "" || len(payload) > 200 {
		return
	}
	if len(t) == rememberedTitles {
		clear(t)
	}
	t[payload] = title
}
