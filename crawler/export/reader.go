package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/extract"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/report"
	"curtsy/storage/sorted"
	"curtsy/storage/warc"
)

// Problems of a capture, the reasons for missing values. Tables contain them.
const (
	ProblemNoFile      = "no-file"      // the WARC file is missing
	ProblemDamaged     = "damaged"      // the record is not completely readable
	ProblemOther       = "other-record" // the index points to a different record
	ProblemNoMetadata  = "no-metadata"  // no metadata record follows the response
	ProblemBadMetadata = "bad-metadata" // the metadata record is unreadable
	ProblemBadCoding   = "bad-coding"   // a content coding is invalid or incomplete
	ProblemUnparsed    = "unparsed"     // the page is too deep or too long, or parsing failed
)

// Capture is an archived response. Read the body before the decision.
type Capture struct {
	Crawl   *Crawl
	Key     string         // SURT
	Index   cdxj.Line      // its line in the index
	File    string         // WARC file, relative to the parent of the crawl directory
	Answer  *answer.Answer // nil if unreadable
	Problem string         // the first problem; empty for none

	r      *reader
	l      *warc.Lenient
	broken bool // the record is damaged
	after  bool // the following data is damaged
	passed bool // the decision was read
}

// reader reads captures for one worker.
type reader struct {
	in     *Inputs
	places warc.Places
	pages  *extract.Extractor
	body   []byte
}

// behind is how many bytes to read after a record: most metadata records fit.
const behind = 8 << 10

func (r *reader) capture(l listed) *Capture {
	c := &Capture{Crawl: l.crawl, Key: l.key, Index: l.line, r: r, File: l.crawl.fileName(l.line.Filename)}
	var rec *warc.Record
	if c.l, rec = c.at(l.line.Offset, l.line.Length+behind); rec == nil {
		return c
	}
	kind := strings.ToLower(rec.Type)
	// An index replaces invalid UTF-8.
	url, indexed := strings.ToValidUTF8(rec.TargetURI(), "\uFFFD"), strings.ToValidUTF8(l.line.URL, "\uFFFD")
	if rec.Offset != l.line.Offset || kind != "response" && kind != "revisit" || url != indexed {
		c.amiss(ProblemOther)
		return c
	}
	a, err := answer.Read(rec, 0)
	if err != nil || a.Undated != nil {
		c.amiss(ProblemDamaged)
		return c
	}
	c.Answer = a
	return c
}

// at reads the first record at or after an offset; nil, with a problem, if the file has no other.
func (c *Capture) at(offset, length int64) (*warc.Lenient, *warc.Record) {
	path, ok := c.Crawl.archive[c.Index.Filename]
	if !ok {
		c.amiss(ProblemNoFile)
		return nil, nil
	}
	found := func(f warc.Finding) {
		if f.Note() {
			return
		}
		if f.Offset <= c.Index.Offset {
			c.broken = true
		} else {
			c.after = true
		}
	}
	stretch := warc.Stretch{Offset: offset, Length: length}
	l, err := c.r.places.Lenient(path, stretch, found)
	if errors.Is(err, os.ErrNotExist) { // the segment was completed meanwhile
		l, err = c.r.places.Lenient(strings.TrimSuffix(path, openEnd), stretch, found)
	}
	if err != nil {
		c.amiss(ProblemNoFile)
		return nil, nil
	}
	rec, err := l.Next()
	if err != nil || c.broken || c.after {
		c.amiss(ProblemDamaged)
		return nil, nil
	}
	return l, rec
}

// amiss sets the problem. The first one remains, except that damage explains all others.
func (c *Capture) amiss(what string) {
	if c.Problem == "" || what == ProblemDamaged {
		c.Problem = what
	}
}

var errPassed = errors.New("export: the body of a capture is read before its decision")

// Body returns the decoded body, nil if the record has none. After most bytes it returns warc.ErrTooLarge.
func (c *Capture) Body(most int64) (io.Reader, error) {
	if c.passed {
		return nil, errPassed
	}
	if c.Answer == nil || c.Answer.Revisit {
		return nil, nil
	}
	body, err := c.Answer.Body(most)
	if err != nil {
		c.amiss(ProblemBadCoding)
		return nil, nil //nolint:nilerr // the row reports it
	}
	return &faulty{body, c}, nil
}

// faulty turns a read error into a problem of the capture and the end of the body.
type faulty struct {
	r io.Reader
	c *Capture
}

func (f *faulty) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	switch {
	case err == nil, errors.Is(err, io.EOF) && !f.c.broken, errors.Is(err, warc.ErrTooLarge):
		return n, err
	case f.c.broken:
		f.c.amiss(ProblemDamaged)
	case f.c.Answer.Truncated == "":
		f.c.amiss(ProblemBadCoding)
	}
	return n, io.EOF
}

const nearBy = 64 << 10 // largest record to read through on the way to the next one

// Decision reads the decision about the URL from the metadata record after the response.
func (c *Capture) Decision() (l storage.Line, ok bool) {
	c.passed = true
	if c.Answer == nil {
		return l, false
	}
	rec := c.next()
	switch {
	case rec == nil, !strings.EqualFold(rec.Type, "metadata"), rec.ConcurrentTo() != c.Answer.ID:
		c.amiss(ProblemNoMetadata)
		return l, false
	}
	if l, ok = answer.Decision(rec, c.Answer.ID); !ok {
		c.amiss(ProblemBadMetadata)
	}
	return l, ok
}

// next returns the record after the response, or nil.
func (c *Capture) next() *warc.Record {
	if c.Index.Length <= nearBy && !c.broken {
		rec, err := c.l.Next()
		switch {
		case c.broken: // as its end revealed
			c.amiss(ProblemDamaged)
		case err != nil, c.after:
			return nil
		default:
			return rec
		}
	}
	problem, broken := c.Problem, c.broken
	c.broken = false
	_, rec := c.at(c.Index.Offset+c.Index.Length, behind)
	c.Problem, c.broken = problem, broken
	return rec
}

// fileName returns the path of a WARC file as the tables have it.
func (c *Crawl) fileName(file string) string { return c.Name + "/warc/" + file }

// media returns the response's declared and detected media types. It peeks at the first bytes.
func (c *Capture) media(head *bufio.Reader) (named, detected string, isPage bool) {
	t := c.Answer.Type()
	b, _ := head.Peek(512) // or fewer
	return t.Name, sniffed(t, b), t.IsPage(b) && len(b) > 0
}

// URL returns the URL of the capture; zero if it is not of the web.
func (c *Capture) URL() canon.URL {
	u, err := canon.Parse(c.Index.URL)
	if err != nil {
		return canon.URL{}
	}
	return u
}

// Decisions calls see for each decision of the crawl, in the order of the ledger, with its generation, 0 if unknown. It skips
// unreadable lines, which the table of decisions counts.
func (c *Crawl) Decisions(ctx context.Context, see func(l *storage.Line, generation int64) error) error {
	return c.decided(ctx, nobody(), func(e *entry) error { return see(&e.Line, e.generation) })
}

// Visit has workers call work for the wanted captures, and passes the results to take in the order of SURT and time.
func Visit[T any](ctx context.Context, in *Inputs, wants func(cdxj.Line) bool, work func(context.Context, *Capture) ([]T, error), take func(T) error) error {
	return visit(ctx, in, nobody(), visitor[T]{size: fewRows, wants: wants, work: work, take: take})
}

// Whole returns the response of a capture, or the original one of a revisit, and up to most bytes of its decoded body. Both
// are nil if the archive lacks them. The caller calls done.
func (c *Capture) Whole(most int64) (a *answer.Answer, body io.Reader, done func() error, err error) {
	of, done := c, func() error { return nil }
	if c.Answer != nil && c.Answer.Revisit {
		original, closer := c.original()
		if original == nil {
			return nil, nil, done, nil
		}
		of, done = original, closer.Close
	}
	if of.Answer == nil {
		return nil, nil, done, nil
	}
	if body, err = of.Body(most); body == nil || err != nil {
		return nil, nil, done, errors.Join(err, done())
	}
	return of.Answer, body, done, nil
}

// All reads up to extract.MaxParse bytes of a body. A large one takes a turn until release; a small one is soon reused.
func (c *Capture) All(ctx context.Context, body io.Reader) (all []byte, release func(), err error) {
	if c.r.body == nil {
		c.r.body = make([]byte, smallPage)
	}
	n, err := io.ReadFull(body, c.r.body)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return c.r.body[:n], func() {}, err
	}
	if release, err = c.r.pages.Turn(ctx, 0); err != nil {
		return nil, func() {}, err
	}
	b := bytes.NewBuffer(append(make([]byte, 0, extract.MaxParse+bytes.MinRead), c.r.body...))
	_, err = b.ReadFrom(body)
	return b.Bytes(), release, err
}

// End reads the rest of a record, up to its checksum, so that Problem reports damage.
func (c *Capture) End() {
	c.passed = true
	if c.l == nil {
		return
	}
	if _, err := c.l.End(); err != nil || c.broken {
		c.amiss(ProblemDamaged)
	}
}

// Generation returns the latest generation in the archive; 0 if unknown.
func (c *Crawl) Generation() (latest int64) {
	for _, g := range c.generations {
		latest = max(latest, g)
	}
	return latest
}

func nobody() *Out {
	return &Out{problem: -1, Lefts: map[string]int64{}, Problems: map[string]int64{}, Notes: map[string]int64{}}
}

// captures sorts the lines of all indexes by SURT, time and crawl, once. An item is the key and the time of a line, each
// followed by a zero, the number of its crawl in two bytes, and the line.
func (in *Inputs) captures(ctx context.Context) (*sorted.Sorter, error) {
	if in.sorted != nil {
		return in.sorted, nil
	}
	s := sorted.New(in.temp, sortMemory)
	var item []byte
	for i, c := range in.Crawls {
		for _, path := range c.index {
			err := eachLine(ctx, path, func(line []byte) error {
				var ok bool
				if item, ok = appendItem(item[:0], i, line); !ok {
					in.damaged++
					return nil
				}
				return s.Add(item)
			})
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
		}
	}
	in.sorted = s
	return s, nil
}

// eachLine reads an index, or the index that has replaced a journal.
func eachLine(ctx context.Context, path string, see func([]byte) error) error {
	for line, err := range cdxj.Lines(path) {
		if err == nil {
			err = see(line)
		}
		if err == nil {
			err = ctx.Err()
		}
		if final, open := strings.CutSuffix(path, openEnd); open && errors.Is(err, fs.ErrNotExist) {
			return eachLine(ctx, final, see)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendItem appends the item of a line, and reports whether the line is valid.
func appendItem(b []byte, crawl int, line []byte) (item []byte, ok bool) {
	key, rest, _ := bytes.Cut(line, []byte(" "))
	stamp, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(key) == 0 || len(stamp) < 14 {
		return b, false
	}
	// Valid UTF-8 keeps the order of rows that of their keys, and a zero would end the key.
	if !utf8.Valid(key) || bytes.IndexByte(key, 0) >= 0 {
		key = bytes.ReplaceAll(bytes.ToValidUTF8(key, []byte("\uFFFD")), []byte{0}, []byte("\uFFFD"))
	}
	b = append(append(b, key...), 0)
	b = append(append(b, stamp[:14]...), 0)
	b = binary.BigEndian.AppendUint16(b, uint16(crawl)) //nolint:gosec // no command line has as many
	return append(b, line...), true
}

type listed struct {
	crawl *Crawl
	key   string
	line  cdxj.Line
}

func (in *Inputs) listed(item []byte) (l listed, err error) {
	key, rest, _ := bytes.Cut(item, []byte{0})
	_, rest, _ = bytes.Cut(rest, []byte{0})
	l.crawl, l.key = in.Crawls[binary.BigEndian.Uint16(rest)], string(key)
	l.line, err = cdxj.ParseLine(rest[2:])
	return l, err
}

// batch is a batch of captures with a worker's results.
type batch[T any] struct {
	items [][]byte
	made  []T
	bad   int64 // invalid items
	err   error
	done  chan struct{}
}

// Reasons for index lines without rows.
const (
	badLine  = "index-line-unreadable"
	sameLine = "index-line-twice"
)

const batchSize = 16 // captures

// visitor configures a visit of captures.
type visitor[T any] struct {
	size  int                  // captures of a batch, at most
	wants func(cdxj.Line) bool // selects captures; nil: all
	work  func(ctx context.Context, c *Capture) ([]T, error)
	take  func(T) error // receives the results in order, in one goroutine
	drop  func(T)       // receives results not taken because of an error; may be nil
}

// visit has workers read captures, and passes the results to take in the order of SURT and time. Several goroutines call work
// at once, each with its own Capture, which is valid until work returns.
func visit[T any](ctx context.Context, in *Inputs, out *Out, v visitor[T]) error {
	all, err := in.captures(ctx)
	if err != nil {
		return err
	}
	out.Left(badLine, in.damaged)
	group, ctx := errgroup.WithContext(ctx)
	n := max(min(runtime.GOMAXPROCS(0), 4), 1)
	work, order := make(chan *batch[T], n), make(chan *batch[T], 2*n)
	for range n {
		group.Go(func() error {
			r := &reader{in: in, pages: in.pages}
			defer func() { _ = r.places.Close() }() // only read
			for b := range work {
				readBatch(ctx, r, b, &v)
				close(b.done)
			}
			return nil
		})
	}
	var twice int64
	group.Go(func() (err error) {
		defer close(order)
		defer close(work)
		twice, err = feed(ctx, all, v.size, work, order)
		return err
	})
	group.Go(func() error { return collect(order, out, &v) })
	err = group.Wait()
	for b := range order { // unfinished ones
		v.dropAll(b.made)
	}
	out.Left(sameLine, twice)
	return err
}

// feed makes batches of all lines, and counts duplicate lines.
func feed[T any](ctx context.Context, all *sorted.Sorter, size int, work, order chan<- *batch[T]) (twice int64, err error) {
	b := &batch[T]{done: make(chan struct{})}
	var last []byte
	send := func() error {
		if len(b.items) == 0 {
			return nil
		}
		select {
		case order <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		work <- b // collect waits for it
		b = &batch[T]{done: make(chan struct{})}
		return nil
	}
	for item, err := range all.All() {
		if err != nil {
			return twice, err
		}
		if bytes.Equal(item, last) { // a journal and its replacement were both there
			twice++
			continue
		}
		last = append(last[:0], item...)
		b.items = append(b.items, bytes.Clone(item))
		if len(b.items) == size {
			if err := send(); err != nil {
				return twice, err
			}
		}
	}
	return twice, send()
}

func collect[T any](order <-chan *batch[T], out *Out, v *visitor[T]) error {
	for b := range order {
		<-b.done
		if b.err != nil {
			v.dropAll(b.made)
			return b.err
		}
		out.Left(badLine, b.bad)
		for i, m := range b.made {
			if err := v.take(m); err != nil {
				v.dropAll(b.made[i+1:])
				return err
			}
		}
	}
	return nil
}

func (v *visitor[T]) dropAll(made []T) {
	for _, m := range made {
		if v.drop != nil {
			v.drop(m)
		}
	}
}

func readBatch[T any](ctx context.Context, r *reader, b *batch[T], v *visitor[T]) {
	for _, item := range b.items {
		if b.err = ctx.Err(); b.err != nil {
			return
		}
		l, err := r.in.listed(item)
		if err != nil {
			b.bad++
			continue
		}
		if v.wants != nil && !v.wants(l.line) {
			continue
		}
		made, err := v.work(ctx, r.capture(l))
		if err != nil {
			b.err = err
			return
		}
		b.made = append(b.made, made...)
	}
}

// Inputs are the crawls to export, for use by one goroutine and its workers.
type Inputs struct {
	Crawls []*Crawl // by name
	// NoLanguage leaves the languages in the table pages null. They take most of its time.
	NoLanguage bool

	pages   *extract.Extractor
	temp    string // folder for temporary files; empty = the system's
	sorted  *sorted.Sorter
	damaged int64 // invalid index lines
}

// Crawl is one crawl directory as of Open.
type Crawl struct {
	Dir     string
	Name    string // of the directory, with as many parents as make it unique
	Origin  string // of the ledger; empty without a checkpoint
	Size    int64  // entries in the latest checkpoint
	Entries int64  // entries of the ledger to read; -1 for all
	Head    string // SIZE:ROOT of the latest checkpoint; empty without one
	Open    bool   // a segment of the archive is unfinished

	seen        int64             // entries of the ledger when it was first read; -1 before
	archive     map[string]string // path of each WARC file by its final name
	files       []string          // those names, sorted
	index       []string          // paths
	generations map[string]int64  // by the WARC file's final name; 0 if unknown
	infos       map[string]int64  // by the digest of the warcinfo block, as in marks of runs
}

const (
	archiveEnd = ".warc.gz"
	indexEnd   = ".cdxj"
	openEnd    = ".open" // unfinished
)

// ErrNoIndex means that a segment of an archive has no index.
var ErrNoIndex = errors.New("export: the index is not complete")

// ErrTwice means that the caller named a crawl twice.
var ErrTwice = errors.New("export: a crawl is named twice")

const sortMemory = 8 << 20 // bytes of index lines

// Open opens the crawls in dirs. Temporary files go to temp; empty means the system's folder.
func Open(ctx context.Context, temp string, dirs ...string) (*Inputs, error) {
	in := &Inputs{temp: temp, pages: extract.New()}
	for i, dir := range dirs {
		path, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		if slices.ContainsFunc(in.Crawls, func(c *Crawl) bool { return c.path() == path }) {
			return nil, fmt.Errorf("%w: %s", ErrTwice, dirs[i])
		}
		c, err := openCrawl(ctx, dir)
		if err != nil {
			return nil, err
		}
		in.Crawls = append(in.Crawls, c)
	}
	in.name()
	slices.SortFunc(in.Crawls, func(a, b *Crawl) int { return strings.Compare(a.Name, b.Name) })
	return in, nil
}

func (in *Inputs) Close() error {
	if in.sorted == nil {
		return nil
	}
	err := in.sorted.Close()
	in.sorted = nil
	return err
}

func (c *Crawl) path() string {
	path, err := filepath.Abs(c.Dir)
	if err != nil {
		return c.Dir
	}
	return path
}

// name gives each crawl the shortest end of its path that makes the names unique.
func (in *Inputs) name() {
	for n := 1; ; n++ {
		seen, alike, longer := map[string]bool{}, false, false
		for _, c := range in.Crawls {
			parts := strings.Split(strings.Trim(filepath.ToSlash(c.path()), "/"), "/")
			longer = longer || len(parts) > n
			c.Name = strings.Join(parts[max(len(parts)-n, 0):], "/")
			alike = alike || seen[c.Name]
			seen[c.Name] = true
		}
		if !alike || !longer {
			return
		}
	}
}

func openCrawl(ctx context.Context, dir string) (*Crawl, error) {
	c := &Crawl{Dir: dir, Entries: -1, seen: -1, archive: map[string]string{}, generations: map[string]int64{}, infos: map[string]int64{}}
	if n, err := ledger.Latest(filepath.Join(dir, crawldir.LedgerName)); err == nil {
		c.Origin, c.Size, c.Head = n.Origin, n.Size, fmt.Sprintf("%d:%x", n.Size, n.Root[:])
	} else if !errors.Is(err, ledger.ErrNoCheckpoint) {
		return nil, fmt.Errorf("export: %w", err)
	}
	if err := c.list(); err != nil {
		return nil, err
	}
	for _, name := range c.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// The rows of a damaged segment's records report the damage.
		if id, err := report.ReadIdentity(c.archive[name]); err == nil && id != nil && id.Generation > 0 {
			c.generations[name], c.infos[hex.EncodeToString(id.SHA256[:])] = id.Generation, id.Generation
		}
	}
	return c, nil
}

// list lists archive and index, and refuses a segment without an index.
func (c *Crawl) list() error {
	entries, err := os.ReadDir(filepath.Join(c.Dir, crawldir.ArchiveName))
	if err != nil {
		return fmt.Errorf("export: list the archive: %w", err)
	}
	for _, e := range entries {
		name, open := strings.CutSuffix(e.Name(), openEnd)
		if !strings.HasSuffix(name, archiveEnd) || !e.Type().IsRegular() {
			continue
		}
		c.Open = c.Open || open
		c.archive[name] = filepath.Join(c.Dir, crawldir.ArchiveName, e.Name())
		c.files = append(c.files, name)
	}
	slices.Sort(c.files)
	if c.index, err = cdxj.Files(filepath.Join(c.Dir, crawldir.IndexName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("export: %w", err)
	}
	have := map[string]bool{}
	for _, path := range c.index {
		name := strings.TrimSuffix(filepath.Base(path), openEnd)
		have[strings.TrimSuffix(name, indexEnd)+archiveEnd] = true
	}
	for _, name := range c.files {
		if !have[name] {
			return fmt.Errorf("%w: %s has none for %s; make it with curtsy warc index %s", ErrNoIndex,
				filepath.Join(c.Dir, crawldir.IndexName), name, c.Dir)
		}
	}
	return nil
}
