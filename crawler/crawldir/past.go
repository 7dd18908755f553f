package crawldir

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"time"

	"curtsy/crawler/record"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/spool"
	"curtsy/storage/warc"
)

// Past is what an archive had before a generation of its crawl began. It is a record.Past.
type Past struct {
	Archive string   // the folder of segments
	Index   []string // of complete segments: what is older than the run is in these
	Spool   string   // where large bodies are decoded to
	Before  time.Time
	MaxBody int64

	// Damaged is told what cannot be read, and why; nil for nobody.
	Damaged func(what string, why error)
	// Void is given the place of each record that cannot be read, before it is passed over; nil for nobody.
	Void func(at cdxj.Place)

	void sync.Map // the places that Void was given
}

// Last implements record.Past. What cannot be read is said and passed over for what is older: a damaged archive makes an
// update dearer, not impossible.
func (p *Past) Last(ctx context.Context, u canon.URL) (*record.Earlier, error) {
	url := u.String()
	var found []cdxj.Line
	for l, err := range cdxj.Lookup(p.Index, url) {
		switch {
		case err != nil:
			p.damaged("the index", err)
		case l.URL == url && !l.Time.After(p.Before) && telling(l):
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

// telling reports whether a capture says what is there. A 304 does as a revisit alone, which names what it confirms.
func telling(l cdxj.Line) bool {
	if l.Status == 304 {
		return l.Mime == "warc/revisit"
	}
	return l.Status >= 200 && l.Status < 400 || l.Status == 404 || l.Status == 410
}

// ErrNoCapture says that the index leads to something else than it says. It can be made anew from the archive.
var ErrNoCapture = errors.New("the record differs from the index")

// capture is an archived answer, and what it says to a visit.
type capture struct {
	record.Earlier
	*answer.Answer
}

// errVoid says that a record could not be read before, which was said then.
var errVoid = errors.New("the record could not be read before")

// setVoid notes a record that cannot be read: from then on it is passed over.
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

// head reads the head of a capture.
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

// leftOut is the digest of a body that is not in the archive, for it asked not to be: the metadata record behind the answer
// has it (docs/reference/archives.md).
func (p *Past) leftOut(l cdxj.Line, of string) (d [32]byte, ok bool) {
	rec, file, err := warc.ReadAt(p.file(l), l.Offset+l.Length)
	if err != nil {
		return d, false // the answer was the last that was written
	}
	defer file.Close()
	line, ok := answer.Decision(rec, of)
	if !ok {
		return d, false
	}
	return answer.ParseSum(line.Payload)
}

// file is the archive file of a capture. Its name comes from an index, which may be anybody's.
func (p *Past) file(l cdxj.Line) string { return filepath.Join(p.Archive, filepath.Base(l.Filename)) }

// read returns what a capture says; nil when it is not of the past.
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

// original finds the response that a revisit refers to (WARC 1.1, 6.7), in this archive; nil without one.
func (p *Past) original(of answer.Reference) (*capture, cdxj.Line, error) {
	if of.URL == "" || of.Date.IsZero() {
		return nil, cdxj.Line{}, nil // it refers to nothing that can be found
	}
	var failed error // of a record that may be the one
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

// hold makes the response at l the one whose body e has.
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
