package export

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"

	"curtsy/crawler/extract"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
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

// capture opens a capture.
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

// nobody is for rows that are no table's.
func nobody() *Out {
	return &Out{problem: -1, Lefts: map[string]int64{}, Problems: map[string]int64{}, Notes: map[string]int64{}}
}
