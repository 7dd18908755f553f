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

// Problems of a capture: why values are missing. They are words of the tables.
const (
	ProblemNoFile      = "no-file"      // the WARC file is not there
	ProblemDamaged     = "damaged"      // the record cannot be read, or not to its end
	ProblemOther       = "other-record" // the index names a place where another record is
	ProblemNoMetadata  = "no-metadata"  // no metadata record stands behind the answer
	ProblemBadMetadata = "bad-metadata" // it stands there and cannot be read
	ProblemBadCoding   = "bad-coding"   // a content coding cannot be undone, or the body ends within it
	ProblemUnparsed    = "unparsed"     // the page is too deep, too long or too odd to be read whole
)

// Capture is an archived answer. Its parts are read in their order: the body first, then the decision.
type Capture struct {
	Crawl   *Crawl
	Key     string         // SURT, as its column has it
	Index   cdxj.Line      // where the index says that it stands
	File    string         // its WARC file, below the folder of the crawl directory
	Answer  *answer.Answer // nil when it cannot be read
	Problem string         // the first one that was met; empty when nothing is amiss

	r      *reader
	l      *warc.Lenient
	broken bool // the record is damaged
	after  bool // what stands behind it is
	passed bool // the decision was read
}

// reader reads captures for one worker.
type reader struct {
	in     *Inputs
	places warc.Places
	pages  *extract.Extractor
	body   []byte
}

func workers() int { return max(min(runtime.GOMAXPROCS(0), 4), 1) }

func newReader(in *Inputs) *reader {
	return &reader{in: in, pages: in.pages}
}

func (r *reader) close() {
	_ = r.places.Close() // only read
}

// behind is how much is read at once behind a record: the metadata record of most.
const behind = 8 << 10

func (r *reader) capture(l listed) *Capture {
	c := &Capture{Crawl: l.crawl, Key: l.key, Index: l.line, r: r, File: l.crawl.fileName(l.line.Filename)}
	var rec *warc.Record
	if c.l, rec = c.at(l.line.Offset, l.line.Length+behind); rec == nil {
		return c
	}
	kind := strings.ToLower(rec.Type)
	if rec.Offset != l.line.Offset || kind != "response" && kind != "revisit" || !alike(rec.TargetURI(), l.line.URL) {
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

// alike reports whether an index means a URL: what is no UTF-8 is not in an index.
func alike(url, indexed string) bool {
	return url == indexed || strings.ToValidUTF8(url, "\uFFFD") == strings.ToValidUTF8(indexed, "\uFFFD")
}

// at reads the first record from an offset on; nil with a problem if there is none.
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
	if errors.Is(err, os.ErrNotExist) { // it was completed meanwhile
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

// amiss notes a problem; the first one stays, but damage explains all others.
func (c *Capture) amiss(what string) {
	if c.Problem == "" || what == ProblemDamaged {
		c.Problem = what
	}
}

// errPassed is a defect of ours.
var errPassed = errors.New("export: the body of a capture is read before its decision")

// Body reads the body without its codings, at most so many bytes: behind them warc.ErrTooLarge follows. It is nil where
// the record has none to give.
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
		return nil, nil //nolint:nilerr // it is said in the row
	}
	return &faulty{body, c}, nil
}

// faulty notes on its capture that a body cannot be read to its end, and ends there.
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

// nearBy is how large a record may be to be read through on the way to the one behind it.
const nearBy = 64 << 10

// Decision reads why the URL was asked for and what became of it, from the metadata record behind the answer.
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

// next returns the record behind the answer, or nil.
func (c *Capture) next() *warc.Record {
	if c.Index.Length <= nearBy && !c.broken {
		rec, err := c.l.Next()
		switch {
		case c.broken: // as its end shows
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

// fileName is a WARC file below the folder of the crawl directory, as the tables have it.
func (c *Crawl) fileName(file string) string { return c.Name + "/warc/" + file }

// Media is what the answer is, by its own word or else by its first bytes, which are peeked at.
func (c *Capture) media(head *bufio.Reader) (named, detected string, isPage bool) {
	t := c.Answer.Type()
	b, _ := head.Peek(512) // what there is
	return t.Name, sniffed(t, b), t.IsPage(b) && len(b) > 0
}

// URL is the URL of the capture; zero for what is no web address.
func (c *Capture) URL() canon.URL {
	u, err := canon.Parse(c.Index.URL)
	if err != nil {
		return canon.URL{}
	}
	return u
}

// Decisions gives each decision of the crawl to see, in the order of the ledger, with the generation that it is of, which
// is 0 where that is not known. What cannot be read is left out: the table of decisions counts it.
func (c *Crawl) Decisions(ctx context.Context, see func(l *storage.Line, generation int64) error) error {
	return c.decided(ctx, nobody(), func(e *entry) error { return see(&e.Line, e.generation) })
}

// Visit has workers read those captures of all crawls whose lines of the index are wanted, and gives what they make of them
// to take, in the order of SURT and time. work is called by several goroutines at once.
func Visit[T any](ctx context.Context, in *Inputs, wants func(cdxj.Line) bool, work func(context.Context, *Capture) ([]T, error), take func(T) error) error {
	return visit(ctx, in, nobody(), visitor[T]{size: fewRows, wants: wants, work: work, take: take})
}

// Whole is the answer that a capture stands for, which is an earlier one for a revisit, and its body without codings, at
// most so many bytes. Both are nil where the archive does not have them.
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

// All reads a body, at most extract.MaxParse bytes of it. A large one waits for its turn, which ends with release; what is
// read of a small one holds until the worker reads another.
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

// End reads what is left of a record, behind which its checksum stands: if it is damaged, Problem then says so.
func (c *Capture) End() {
	c.passed = true
	if c.l == nil {
		return
	}
	if _, err := c.l.End(); err != nil || c.broken {
		c.amiss(ProblemDamaged)
	}
}

// Generation is the latest one of which the crawl has an archive; 0 where that is not known.
func (c *Crawl) Generation() (latest int64) {
	for _, g := range c.generations {
		latest = max(latest, g)
	}
	return latest
}

func nobody() *Out {
	return &Out{problem: -1, Lefts: map[string]int64{}, Problems: map[string]int64{}, Notes: map[string]int64{}}
}

// captures are the lines of all indexes in order of SURT, time and crawl: sorted once, read as often as wanted. An item
// is the key and the time of a line, each with a zero behind it, the number of its crawl in two bytes, and the line.
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

// eachLine reads an index, and the one that took the place of a journal.
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

// appendItem makes an item of a line; ok is false for what is no line.
func appendItem(b []byte, crawl int, line []byte) (item []byte, ok bool) {
	key, rest, _ := bytes.Cut(line, []byte(" "))
	stamp, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(key) == 0 || len(stamp) < 14 {
		return b, false
	}
	b = append(append(b, plainKey(key)...), 0)
	b = append(append(b, stamp[:14]...), 0)
	b = binary.BigEndian.AppendUint16(b, uint16(crawl)) //nolint:gosec // as many as fit into a command
	return append(b, line...), true
}

// plainKey is a key as its column has it: valid UTF-8, so that the order of rows is that of their keys, and without a
// zero, which ends it.
func plainKey(key []byte) []byte {
	if utf8.Valid(key) && bytes.IndexByte(key, 0) < 0 {
		return key
	}
	return bytes.ReplaceAll(bytes.ToValidUTF8(key, []byte("\uFFFD")), []byte{0}, []byte("\uFFFD"))
}

// listed is a capture as an index has it.
type listed struct {
	crawl *Crawl
	key   string // see plainKey
	line  cdxj.Line
}

func (in *Inputs) listed(item []byte) (l listed, err error) {
	key, rest, _ := bytes.Cut(item, []byte{0})
	_, rest, _ = bytes.Cut(rest, []byte{0})
	l.crawl, l.key = in.Crawls[binary.BigEndian.Uint16(rest)], string(key)
	l.line, err = cdxj.ParseLine(rest[2:])
	return l, err
}

// batch is captures that one worker reads, and what came of them.
type batch[T any] struct {
	items [][]byte
	made  []T
	bad   int64 // items that are no lines
	err   error
	done  chan struct{}
}

// Why lines of an index have no rows.
const (
	badLine  = "index-line-unreadable"
	sameLine = "index-line-twice"
)

// batchSize is how many captures make a batch.
const batchSize = 16

// visitor is what is done with captures.
type visitor[T any] struct {
	size  int                  // captures of a batch at most
	wants func(cdxj.Line) bool // which are read; nil: all
	work  func(ctx context.Context, c *Capture) ([]T, error)
	take  func(T) error // what was made, in order, by one goroutine
	drop  func(T)       // what was made and is not taken, after an error; nil: it holds nothing
}

// visit has workers read the captures of all crawls, and gives what they make of them to take in the order of SURT and time.
// work is called by several goroutines at once, each with a Capture of its own, which holds until it returns.
func visit[T any](ctx context.Context, in *Inputs, out *Out, v visitor[T]) error {
	all, err := in.captures(ctx)
	if err != nil {
		return err
	}
	out.Left(badLine, in.damaged)
	group, ctx := errgroup.WithContext(ctx)
	n := workers()
	work, order := make(chan *batch[T], n), make(chan *batch[T], 2*n)
	for range n {
		group.Go(func() error {
			r := newReader(in)
			defer r.close()
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
	for b := range order { // what the workers still had
		v.dropAll(b.made)
	}
	out.Left(sameLine, twice)
	return err
}

// feed makes batches of all lines. twice is how many stood there more than once.
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
		work <- b // whoever took it in order waits for it
		b = &batch[T]{done: make(chan struct{})}
		return nil
	}
	for item, err := range all.All() {
		if err != nil {
			return twice, err
		}
		if bytes.Equal(item, last) { // a journal and its sorted file, while one replaces the other
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

// Inputs are the crawls that are exported. One goroutine uses them, but for the workers that it owns.
type Inputs struct {
	Crawls []*Crawl // by name
	// NoLanguage leaves the languages of the table pages null, which costs most of its time.
	NoLanguage bool

	pages   *extract.Extractor
	temp    string // for temporary files; empty means the system's
	sorted  *sorted.Sorter
	damaged int64 // lines of indexes that are none
}

// Crawl is one crawl directory, as it was when it was opened.
type Crawl struct {
	Dir     string
	Name    string // of the directory; with as much of its path in front as tells it from others
	Origin  string // of the ledger; empty without a checkpoint
	Size    int64  // of the latest checkpoint, in entries
	Entries int64  // of the ledger that are read; -1 for all
	Head    string // SIZE:ROOT of the latest checkpoint; empty without one
	Open    bool   // a segment of the archive is being written, or was left by a kill

	seen        int64             // entries of the ledger when it was first read; -1 before
	archive     map[string]string // path of each WARC file by its final name
	files       []string          // those names, sorted
	index       []string          // paths
	generations map[string]int64  // by the WARC file's final name; 0 where it does not say
	infos       map[string]int64  // the same by the digest of its warcinfo block, as marks of runs have it
}

// The ends of file names.
const (
	archiveEnd = ".warc.gz"
	indexEnd   = ".cdxj"
	openEnd    = ".open" // of what is being written
)

// ErrNoIndex says that a segment of an archive has no index.
var ErrNoIndex = errors.New("export: the index is not complete")

// ErrTwice says that a crawl was named twice.
var ErrTwice = errors.New("export: a crawl is named twice")

// sortMemory is how many bytes of lines of indexes are held in memory.
const sortMemory = 8 << 20

// Open looks at the crawls in dirs. Temporary files go to temp; empty means the system's folder.
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

// Close removes temporary files.
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

// name gives each crawl as many parts of its path, from the end, as make the names differ.
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

// list finds the files of archive and index, and refuses a segment without an index.
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
