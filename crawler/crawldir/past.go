package crawldir

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/record"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/sorted"
	"curtsy/storage/spool"
	"curtsy/storage/warc"
)

// Past is the archive before a generation began. It implements record.Past.
type Past struct {
	Archive string   // the folder of segments
	Index   []string // complete segments, which hold everything older than the run
	Spool   string   // where large bodies are decoded to
	Before  time.Time
	MaxBody int64

	// Damaged receives the name and the error of each unreadable part; may be nil.
	Damaged func(what string, why error)
	// Void receives the place of each unreadable record before it is skipped; may be nil.
	Void func(at cdxj.Place)

	void sync.Map // the places of unreadable records
}

// Last implements record.Past. It reports unreadable records and falls back to older ones, which only makes an update slower.
func (p *Past) Last(ctx context.Context, u canon.URL) (*record.Earlier, error) {
	url := u.String()
	var found []cdxj.Line
	for l, err := range cdxj.Lookup(p.Index, url) {
		switch {
		case err != nil:
			p.damaged("the index", err)
		case l.URL == url && !l.Time.After(p.Before) && isConclusive(l):
			found = append(found, l)
		}
	}
	for i := len(found) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := p.read(found[i])
		if err != nil && !errors.Is(err, errVoid) {
			p.damaged("the archive: "+url, err)
		} else if e != nil {
			return e, nil
		}
	}
	return nil, nil
}

func (p *Past) damaged(what string, why error) {
	if p.Damaged != nil {
		p.Damaged(what, why)
	}
}

// isConclusive reports whether a capture shows the URL's content. A 304 does only as a revisit, which names a record.
func isConclusive(l cdxj.Line) bool {
	if l.Status == 304 {
		return l.Mime == "warc/revisit"
	}
	return l.Status >= 200 && l.Status < 400 || l.Status == 404 || l.Status == 410
}

// ErrNoCapture means that the index points to a different record. The index can be rebuilt from the archive.
var ErrNoCapture = errors.New("the record differs from the index")

// capture is an archived response, and its meaning for a visit.
type capture struct {
	record.Earlier
	*answer.Answer
}

// errVoid means that a record was unreadable before, which was reported then.
var errVoid = errors.New("the record could not be read before")

// setVoid remembers an unreadable record, which later lookups skip.
func (p *Past) setVoid(l cdxj.Line) {
	at := placeOf(l)
	p.void.Store(at, true)
	if p.Void != nil {
		p.Void(at)
	}
}

func placeOf(l cdxj.Line) cdxj.Place {
	return cdxj.Place{File: filepath.Base(l.Filename), Offset: l.Offset}
}

func (p *Past) head(l cdxj.Line) (c capture, err error) {
	if _, is := p.void.Load(placeOf(l)); is {
		return c, errVoid
	}
	defer func() {
		if err != nil {
			p.setVoid(l)
		}
	}()
	rec, file, err := warc.ReadAt(p.file(l), l.Offset)
	if err != nil {
		return c, err
	}
	defer file.Close()
	if rec.TargetURI() != l.URL || rec.Type != "response" && rec.Type != "revisit" {
		return c, ErrNoCapture
	}
	if c.Answer, err = answer.Read(rec, 0); err != nil {
		return c, err
	}
	if c.Undated != nil {
		return c, c.Undated
	}
	c.Earlier = record.Earlier{Record: c.ID, Date: c.Answer.Date, Status: c.Answer.Status, Header: c.Answer.Header}
	c.Payload, c.HasPayload = c.Sum()
	if !c.Revisit && !c.HasPayload {
		c.Payload, c.HasPayload = p.leftOut(l, c.ID)
	}
	return c, nil
}

// leftOut returns the digest of an unarchived body from the metadata record after the response (docs/reference/archives.md).
func (p *Past) leftOut(l cdxj.Line, of string) (d [32]byte, ok bool) {
	rec, file, err := warc.ReadAt(p.file(l), l.Offset+l.Length)
	if err != nil {
		return d, false // no record follows the response
	}
	defer file.Close()
	line, ok := answer.Decision(rec, of)
	if !ok {
		return d, false
	}
	return answer.ParseSum(line.Payload)
}

// file returns the archive file of a capture. The index may be hostile, so only the base name counts.
func (p *Past) file(l cdxj.Line) string { return filepath.Join(p.Archive, filepath.Base(l.Filename)) }

// read returns the content of a capture; nil if it is not older than the generation.
func (p *Past) read(l cdxj.Line) (*record.Earlier, error) {
	c, err := p.head(l)
	if err != nil || !c.Earlier.Date.Before(p.Before) {
		return nil, err
	}
	if !c.Revisit {
		p.hold(&c.Earlier, c, l)
		return &c.Earlier, nil
	}
	original, at, err := p.original(c.Refers)
	if err != nil {
		return nil, err
	}
	if c.Earlier.Status != 304 {
		if original != nil && original.HasPayload && original.Payload == c.Payload {
			p.hold(&c.Earlier, *original, at)
		}
		return &c.Earlier, nil
	}
	if original == nil {
		return nil, errors.New("the answer that a 304 confirms is not in the archive")
	}
	e := original.Earlier
	e.Record, e.Date, e.Header = c.Record, c.Earlier.Date, record.Freshened(original.Earlier.Header, c.Earlier.Header)
	p.hold(&e, *original, at)
	return &e, nil
}

// original returns the response that a revisit refers to (WARC 1.1, 6.7), nil if this archive lacks it.
func (p *Past) original(of answer.Reference) (*capture, cdxj.Line, error) {
	if of.URL == "" || of.Date.IsZero() {
		return nil, cdxj.Line{}, nil
	}
	var failed error // of a possible original
	for l, err := range cdxj.Lookup(p.Index, of.URL) {
		if err != nil || l.URL != of.URL || !l.Time.Equal(of.Date.UTC().Truncate(time.Second)) || l.Mime == "warc/revisit" {
			continue
		}
		c, err := p.head(l)
		if err != nil {
			failed = err
		} else if !c.Revisit && (c.ID == of.ID || of.ID == "" && c.Earlier.Date.Equal(of.Date)) {
			return &c, l, nil
		}
	}
	return nil, cdxj.Line{}, failed
}

func (p *Past) hold(e *record.Earlier, response capture, l cdxj.Line) {
	e.Original = storage.Original{URL: l.URL, Date: response.Earlier.Date, ID: response.ID}
	if response.Whole() {
		e.Body = func() (*io.SectionReader, io.Closer, error) { return p.body(l) }
	}
}

// body decodes the body of a response into memory or, if it is large, a file.
func (p *Past) body(l cdxj.Line) (_ *io.SectionReader, _ io.Closer, err error) {
	defer func() {
		if err != nil && !errors.Is(err, warc.ErrTooLarge) {
			p.setVoid(l)
		}
	}()
	rec, file, err := warc.ReadAt(p.file(l), l.Offset)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	a, err := answer.Read(rec, 0)
	if err != nil {
		return nil, nil, err
	}
	kept := &spool.Spool{Dir: p.Spool, Pattern: "past-*"}
	if err := a.Decode(kept, p.MaxBody); err != nil {
		return nil, nil, errors.Join(err, kept.Close())
	}
	return kept.Section(), kept, nil
}

// Words for changes that only a comparison of generations shows, and no ledger line.
const (
	Unlinked = "unlinked"  // in the generation before, and no longer linked
	Unknown  = "unknown"   // in the generation before; no response showed its current content
	OptedOut = "opted-out" // in the generation before; an opt-out list names it or its address now
)

// Changes counts the changes of a generation.
type Changes struct {
	Version    int              `json:"version"`
	Generation int64            `json:"generation"`
	Began      time.Time        `json:"began"`
	Complete   bool             `json:"complete"`        // the generation has no pending URLs
	Round      bool             `json:"round,omitempty"` // it requested only some pages
	Counts     map[string]int64 `json:"counts"`
	File       string           `json:"file,omitempty"`
}

// Change is the change of one URL.
type Change struct {
	URL    string   `json:"url"`
	Change string   `json:"change"`
	Status int      `json:"status,omitempty"`
	Record string   `json:"record,omitempty"`
	Before *Earlier `json:"before,omitempty"`
}

// Earlier is the previous response in the archive.
type Earlier struct {
	Time   time.Time `json:"time"`
	Status int       `json:"status,omitempty"`
	Record string    `json:"record,omitempty"`
}

// A Comparison compares a generation with the one before by their ledger lines. Call Write once.
type Comparison struct {
	Generation budget.Generation
	Complete   bool   // the generation has no pending URLs
	Ledger     string // folder of the ledger
	Spool      string // folder for sorting
	File       string // output
	Past       *Past

	// OptedOut reports whether an opt-out list in force names the URL; nil without a list.
	OptedOut func(canon.URL) bool

	counts  map[string]int64
	out     *bufio.Writer
	between string // changes
}

// Write compares, and replaces the file only by a complete one. It sorts lines by URL on disk, so memory does not depend on
// their number. Unlinked URLs are known only once the generation has no pending URLs.
func (c Comparison) Write(ctx context.Context) (_ *Changes, err error) {
	lines := sorted.NewRows[outcome](c.Spool, SortedMemory)
	defer func() { err = errors.Join(err, lines.Close()) }()
	n, from := int64(0), c.Generation.Before
	if c.Generation.Round { // only requested URLs count, and the archive has their past
		from = c.Generation.Lines
	}
	for l, err := range Decisions(c.Ledger) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if at := n; at >= from && l.Outcome != "" {
			if err := addOutcome(lines, &l, at >= c.Generation.Lines); err != nil {
				return nil, err
			}
		}
		n++
	}
	c.counts = map[string]int64{}
	for _, word := range []string{string(storage.ChangeNew), string(storage.ChangeChanged), string(storage.ChangeUnchanged), string(storage.ChangeFresh), string(storage.ChangeGone), Unknown, OptedOut} {
		c.counts[word] = 0
	}
	if c.Complete && !c.Generation.Round {
		c.counts[Unlinked] = 0
	}
	all := &Changes{
		Version: 1, Generation: c.Generation.Number, Began: c.Generation.Began, Complete: c.Complete,
		Round: c.Generation.Round, Counts: c.counts, File: c.File,
	}
	err = durable.File(c.File, func(out io.Writer) error {
		c.out = bufio.NewWriter(out)
		fmt.Fprintf(c.out, "{\"version\":%d,\"generation\":%d,\"began\":%q,\"complete\":%t,%s\"changes\":[", all.Version, all.Generation, all.Began.Format(time.RFC3339Nano), all.Complete, map[bool]string{true: `"round":true,`}[all.Round])
		if err := c.write(ctx, lines); err != nil {
			return err
		}
		b, err := json.Marshal(c.counts)
		if err == nil {
			_, err = fmt.Fprintf(c.out, "\n],\"counts\":%s}\n", b)
		}
		return errors.Join(err, c.out.Flush())
	})
	if err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	return all, nil
}

// outcome is the outcome of a URL in one of two generations.
type outcome struct {
	Now     bool            // of this generation, and not of the one before
	Change  storage.Change  `json:",omitempty"`
	Outcome storage.Outcome // "" without one
	Record  string          `json:",omitempty"`
	Status  int             `json:",omitempty"`
	Time    time.Time
	OptOut  bool `json:",omitempty"` // an opt-out list forbade it
}

// SortedMemory is how many bytes of outcomes are sorted in memory at once.
const SortedMemory = 16 << 20

// addOutcome adds a line under its URL. It omits URLs that no curtsy crawl can request.
func addOutcome(to *sorted.Rows[outcome], l *storage.Line, now bool) error {
	for _, s := range []string{l.URL, string(l.Change), string(l.Outcome), l.Record} {
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' }) {
			return nil
		}
	}
	return to.Add(l.URL, outcome{
		Now: now, Change: l.Change, Outcome: l.Outcome, Record: l.Record, Status: l.Status, Time: l.Time,
		OptOut: l.Reason == storage.ReasonOptOut,
	})
}

func (c *Comparison) write(ctx context.Context, rows *sorted.Rows[outcome]) error {
	var url string
	var was, now outcome
	met := false
	for row, err := range rows.All() {
		if err != nil {
			return err
		}
		if row.Key != url {
			if err := c.became(ctx, url, was, now, met); err != nil {
				return err
			}
			url, was, now, met = row.Key, outcome{}, outcome{}, false
		}
		o := row.Value
		met = met || o.Now
		switch {
		case o.Outcome == storage.OutcomeDeferred:
		case o.Now:
			now = o
		default:
			was = o
		}
	}
	return c.became(ctx, url, was, now, met)
}

// became writes the change of a URL from one outcome to the next. met reports that this generation has a line of it.
func (c *Comparison) became(ctx context.Context, url string, was, now outcome, met bool) error {
	u, invalid := canon.Parse(url) // no crawl can have one that is invalid
	had := was.Outcome == storage.OutcomeFetched || was.Outcome == storage.OutcomeRedirected
	if c.Generation.Round && now.Change == "" && now.Outcome != "" { // no response shows the content
		if invalid == nil {
			last, err := c.Past.Last(ctx, u)
			if err != nil {
				return err
			}
			if last.There() {
				was = outcome{Outcome: storage.OutcomeFetched, Status: last.Status, Time: last.Date, Record: last.Record}
			}
		}
		had = was.Outcome != ""
	}
	e := Change{URL: url, Change: string(now.Change), Status: now.Status, Record: now.Record}
	switch {
	case e.Change != "" || !had:
	case now.Outcome != "":
		e.Change = Unknown
	case !met && c.Complete:
		e.Change = Unlinked
	}
	if e.Change == "" {
		return ctx.Err()
	}
	// An opt-out list may be why the URL was not fetched, or no page that links to it.
	if (e.Change == Unknown || e.Change == Unlinked) && (now.OptOut || invalid == nil && c.OptedOut != nil && c.OptedOut(u)) {
		e.Change = OptedOut
	}
	if had {
		e.Before = &Earlier{Time: was.Time, Status: was.Status, Record: was.Record}
	}
	if (!had || was.Record == "") && e.Change != string(storage.ChangeNew) && invalid == nil {
		last, err := c.Past.Last(ctx, u)
		if err != nil {
			return err
		}
		if last != nil {
			e.Before = &Earlier{Time: last.Date, Status: last.Status, Record: last.Record}
		}
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	c.counts[e.Change]++
	_, err = fmt.Fprintf(c.out, "%s\n%s", c.between, b)
	c.between = ","
	return err
}

// ReadChangesHeader reads a file of changes without the changes themselves; ok is false if it is unreadable.
func ReadChangesHeader(path string) (c Changes, ok bool) {
	f, err := durable.Open(path)
	if err != nil {
		return c, false
	}
	defer f.Close()
	head := make([]byte, 200)
	n, _ := io.ReadFull(f, head)
	fields, _, ok := strings.Cut(string(head[:n]), `,"changes":[`)
	if !ok || json.Unmarshal([]byte(fields+"}"), &c) != nil {
		return Changes{}, false
	}
	return c, c.Version == 1
}

// Done reports whether a file of changes has all of a generation.
func Done(path string, generation int64) bool {
	c, ok := ReadChangesHeader(path)
	return ok && c.Generation == generation && c.Complete
}

// Decisions yields the lines of a ledger that can be read; an error is one of the file system, and the last.
func Decisions(dir string) iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		for l, err := range ledger.Read(dir) {
			var system *fs.PathError
			switch {
			case errors.As(err, &system):
				yield(l, err)
				return
			case err != nil: // a damaged line; curtsy audit is for these
			case !yield(l, nil):
				return
			}
		}
	}
}
