package changes

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"strings"

	"curtsy/crawler/export"
	"curtsy/frontier/durable/meter"
	"curtsy/storage/cdxj"
	"curtsy/storage/mediatype"
	"curtsy/storage/redact"
	"curtsy/storage/text"
	"curtsy/storage/warc"
)

// reading is what one answer says.
type reading struct {
	at       int    // of the change
	side     int    // 0 is before, 1 after
	key      string // SURT: those of one URL come one behind the other
	page     bool
	missing  string
	location string
	whole    string
	main     string
	partial  bool // main lacks much of whole
	share    float64
	cut      bool
	sum      [sha256.Size]byte // of the body without codings
}

// wish is an answer to be read.
type wish struct{ at, side int }

// wishes are the answers to be read, by digests of their URLs and of the ids of their records.
type wishes struct {
	seed    maphash.Seed
	urls    map[uint64]bool
	records map[uint64]wish

	redacted map[string]bool // ids of records that were redacted, as the ledger records
}

// read reads the texts of what changed, of so many pages that are new or gone, and where redirects lead.
func (c *comparing) read(ctx context.Context, in *export.Inputs) error {
	w := c.wish()
	if len(w.records) > 0 {
		marks, err := redact.Marks(ctx, c.r.Dir)
		if err != nil {
			return fmt.Errorf("changes: %w", err)
		}
		w.redacted = map[string]bool{}
		for _, told := range marks.All {
			for _, r := range told.Records {
				w.redacted[r.ID] = true
			}
		}
		meter.Of(ctx, int64(len(w.records)))
		pending, key := map[int]bool{}, ""
		err = export.Visit(ctx, in, w.wants, w.read, func(r *reading) error {
			if r.key != key {
				c.close(pending)
				key = r.key
			}
			meter.Add(ctx, 1)
			p := &c.pairs[r.at]
			p.texts[r.side] = r
			if p.outstanding--; p.outstanding == 0 {
				delete(pending, r.at)
				c.judge(r.at)
				return nil
			}
			pending[r.at] = true
			return nil
		})
		if err != nil {
			return fmt.Errorf("changes: %w", err)
		}
		c.close(pending)
	}
	for i := range c.pairs {
		if c.pairs[i].outstanding > 0 {
			c.judge(i)
		}
	}
	return nil
}

// close judges those of which no more comes: the archive has not what the ledger names.
func (c *comparing) close(pending map[int]bool) {
	for at := range pending {
		c.judge(at)
		delete(pending, at)
	}
}

func (c *comparing) wish() *wishes {
	w := &wishes{seed: maphash.MakeSeed(), urls: map[uint64]bool{}, records: map[uint64]wish{}}
	excerpts := 0
	for i := range c.r.Changes {
		x, p := &c.r.Changes[i], &c.pairs[i]
		switch {
		case x.Change == Changed:
			p.wanted = [2]bool{true, true}
		case x.MovedTo != "" || x.MovedFrom != "":
		case x.Change == New && x.Page, x.Change == Gone && x.Page:
			if excerpts++; excerpts > MaxExcerpts {
				x.Missing = TooMany
				continue
			}
			p.wanted[map[string]int{Gone: 0, New: 1}[x.Change]] = true
		}
		for side, a := range []*Answer{x.Before, x.After} {
			if !p.wanted[side] || a == nil {
				continue
			}
			p.outstanding++
			if a.Record != "" {
				w.urls[w.sum(x.URL)] = true
				w.records[w.sum(a.Record)] = wish{i, side}
			}
		}
	}
	return w
}

func (w *wishes) sum(s string) uint64 { return maphash.String(w.seed, s) }

func (w *wishes) wants(l cdxj.Line) bool { return w.urls[w.sum(l.URL)] }

// read reads a capture; nothing where it is none that is wanted.
func (w *wishes) read(ctx context.Context, c *export.Capture) ([]*reading, error) {
	if c.Answer == nil {
		return nil, nil
	}
	want, ok := w.records[w.sum(c.Answer.ID)]
	if !ok {
		return nil, nil
	}
	r := &reading{at: want.at, side: want.side, key: c.Key}
	if c.Answer.Status/100 == 3 && !c.Answer.Revisit {
		r.location = strings.TrimSpace(c.Answer.Header.Get("Location"))
		return []*reading{r}, nil
	}
	if w.redacted[c.Answer.ID] || w.redacted[c.Answer.Refers.ID] {
		r.missing = Redacted
		return []*reading{r}, nil
	}
	answer, body, done, err := c.Whole(text.MaxRead + 1)
	switch {
	case err != nil:
		r.missing = NoBody // its coding, or its record: whole crawls are not refused for one body
		return []*reading{r}, ctx.Err()
	case body == nil:
		r.missing = NoOriginal
		return []*reading{r}, done()
	case answer.Truncated != "":
		r.cut = true
	}
	err = r.text(ctx, mediatype.Value(answer.Header), body)
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), done())
	}
	if err != nil && !errors.Is(err, warc.ErrTooLarge) || c.Problem != "" {
		r.missing = NoBody
	}
	return []*reading{r}, done()
}

// text reads what there is to read in a body.
func (r *reading) text(ctx context.Context, contentType string, body io.Reader) error {
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(body, sum), mediatype.MaxSniff)
	t := mediatype.Parse(contentType)
	head, _ := in.Peek(mediatype.MaxSniff)
	r.page = t.IsPage(head) || t.Name == "text/plain"
	if !r.page {
		return r.rest(in, sum)
	}
	p, err := text.Read(ctx, text.Input{ContentType: contentType, Body: in})
	if err != nil {
		return err
	}
	r.whole, r.main, r.cut = p.Whole, p.Main, r.cut || p.Cut != ""
	r.partial, r.share = p.MainMissing() == text.NoMost, p.Share
	if r.main == "" {
		r.main = p.Whole
	}
	return r.rest(in, sum)
}

// rest reads to the end, so that the digest is of the whole.
func (r *reading) rest(in io.Reader, sum hash.Hash) error {
	_, err := io.Copy(io.Discard, in)
	copy(r.sum[:], sum.Sum(nil))
	if errors.Is(err, warc.ErrTooLarge) {
		r.cut = true
	}
	return err
}
