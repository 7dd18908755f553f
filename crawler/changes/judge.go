package changes

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"curtsy/crawler/export"
	"curtsy/frontier/durable/meter"
	"curtsy/storage/cdxj"
	"curtsy/storage/mediatype"
	"curtsy/storage/redact"
	"curtsy/storage/text"
	"curtsy/storage/warc"
)

// judge classifies the change of a URL by the readings, and releases them.
func (c *comparing) judge(at int) {
	x, p := &c.r.Changes[at], &c.pairs[at]
	before, after := p.texts[0], p.texts[1]
	p.texts, p.outstanding = [2]*reading{}, 0
	for side, r := range []*reading{before, after} {
		if a := []*Answer{x.Before, x.After}[side]; r != nil && a != nil {
			a.Location = r.location
		}
	}
	switch x.Change {
	case New:
		c.excerpt(x, after, '+')
	case Gone:
		c.excerpt(x, before, '-')
	case Changed:
		c.changed(x, before, after)
	}
}

// excerpt shows the beginning of a new or gone page.
func (c *comparing) excerpt(x *Change, r *reading, mark byte) {
	switch {
	case r == nil:
		x.Missing = NoRecord
	case r.location != "":
		x.Page = false
	case r.missing != "":
		x.Missing = r.missing
	case !r.page:
		x.Page = false // despite the server's declaration
	case r.whole == "":
		x.Missing = NoText
	default:
		x.Title = titleOf(r.whole)
		d := excerpt(r.main, mark)
		d.Of = of(r)
		c.show(x, d)
	}
}

// changed compares two responses of a URL.
func (c *comparing) changed(x *Change, before, after *reading) {
	is := func(a *Answer) bool { return a != nil && a.Status/100 == 3 && a.Status != 304 }
	if is(x.Before) || is(x.After) {
		x.Kind, x.Page = Redirect, false
		return
	}
	x.Kind = Unread
	switch {
	case before == nil || after == nil:
		x.Missing = NoRecord
	case before.missing != "" || after.missing != "":
		x.Missing = cmp.Or(before.missing, after.missing)
	case before.sum == after.sum && !before.cut && !after.cut:
		x.Kind, x.Page = Coding, after.page
	case !before.page && !after.page:
		x.Kind, x.Page = File, false
	case before.page != after.page:
		x.Missing = Differs
	default:
		x.Page, x.Title = true, titleOf(after.whole)
		c.texts(x, before, after)
	}
	if x.Missing != "" {
		return
	}
	if (before.cut || after.cut) && x.Diff == nil {
		x.Missing = Cut // the texts are equal as far as they were read
		x.Kind = Unread
	}
}

// texts compares two texts: the whole texts if a page has no main text, or an incomplete one. It shows the smaller diff, in
// case the extractor chose different parts of the page as the main text.
func (c *comparing) texts(x *Change, before, after *reading) {
	all := differ(before.whole, after.whole)
	if all == nil {
		x.Kind = Markup
		return
	}
	all.Of = "whole"
	if of(before) != "main" || of(after) != "main" || before.partial || after.partial {
		x.Kind = Text
		c.show(x, all)
		return
	}
	main := differ(before.main, after.main)
	if main == nil {
		x.Kind = Around
		if min(before.share, after.share) < surelyMain && (all.LeftOut > 0 || changesProse(before.whole, after.whole)) {
			x.Kind = Text
		}
		c.show(x, all)
		return
	}
	main.Of, x.Kind = "main", Text
	if main.Added+main.Removed > 2*(all.Added+all.Removed) {
		main = all
	}
	c.show(x, main)
}

const (
	surelyMain = 0.9 // with this share of the text, the main text has all prose of a page
	shortLine  = 60  // longest line of a menu or footer, in bytes
)

// changesProse reports whether a line differs that is longer than those of menus and footers.
func changesProse(before, after string) bool {
	before, after = before+"\n", after+"\n"
	for _, e := range udiff.Lines(before, after) {
		for line := range strings.Lines(before[e.Start:e.End] + e.New) {
			if len(strings.TrimSuffix(line, "\n")) > shortLine {
				return true
			}
		}
	}
	return false
}

// of returns which text of a reading is compared.
func of(r *reading) string {
	if r.main == r.whole {
		return "whole"
	}
	return "main"
}

// show keeps a diff within MaxDiffs. Pages with the same changed lines, as in their footer, share one.
func (c *comparing) show(x *Change, d *Diff) {
	if x.Change == Changed && d.LeftOut == 0 {
		if c.alike == nil {
			c.alike = map[[sha256.Size]byte]string{}
		}
		sum := d.sum(x.Kind)
		if first, ok := c.alike[sum]; ok {
			x.SameAs, x.Diff, d.Lines = first, d, []Line{}
			return
		}
		c.alike[sum] = x.URL
	}
	size := 0
	for _, l := range d.Lines {
		size += len(l.Text) + 8
	}
	if c.spent+size > MaxDiffs {
		c.r.NoDiffs++
		d.LeftOut += len(d.Lines)
		d.Lines = []Line{}
	} else {
		c.spent += size
	}
	x.Diff = d
}

func titleOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return shortened(line, 200)
}

// reading is the content of one response.
type reading struct {
	at       int    // index of the change
	side     int    // 0 is before, 1 after
	key      string // SURT: readings of one URL arrive consecutively
	page     bool
	missing  string
	location string
	whole    string
	main     string
	partial  bool // main lacks much of whole
	share    float64
	cut      bool
	sum      [sha256.Size]byte // of the decoded body
}

// wish is a response to read.
type wish struct{ at, side int }

// wishes are the responses to read, by digests of their URLs and record IDs.
type wishes struct {
	seed    maphash.Seed
	urls    map[uint64]bool
	records map[uint64]wish

	redacted map[string]bool // record IDs, from the ledger
}

// read reads changed texts, those of up to MaxExcerpts new or gone pages, and the targets of redirects.
func (c *comparing) read(ctx context.Context, in *export.Inputs) error {
	w := c.wish()
	if len(w.records) > 0 {
		marks, err := redact.Marks(ctx, c.r.Dir)
		if err != nil {
			return fmt.Errorf("changes: %w", err)
		}
		w.redacted = map[string]bool{}
		for _, mark := range marks.All {
			for _, r := range mark.Records {
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

// close judges changes without further readings: the archive lacks records that the ledger names.
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

// read reads a capture if it is wanted.
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
		r.missing = NoBody // one bad body does not fail the comparison
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

// text reads the text of a body.
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

// rest reads to the end for the digest.
func (r *reading) rest(in io.Reader, sum hash.Hash) error {
	_, err := io.Copy(io.Discard, in)
	copy(r.sum[:], sum.Sum(nil))
	if errors.Is(err, warc.ErrTooLarge) {
		r.cut = true
	}
	return err
}

// differ compares two texts; nil if they are equal. Its search is bounded, so very different texts show more lines.
func differ(before, after string) *Diff {
	if before == after {
		return nil
	}
	before, rows := sentences(before)
	after, _ = sentences(after)
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), 1)
	if err != nil { // overlapping edits, which udiff.Lines does not make
		return &Diff{Lines: []Line{}}
	}
	d := &Diff{Lines: []Line{}}
	for _, h := range u.Hunks {
		row := 1
		if n := min(h.FromLine, len(rows)); n > 0 {
			row = rows[n-1]
		}
		d.add('@', fmt.Sprintf("line %d", row))
		d.hunk(h.Lines)
	}
	return d
}

const longLine = 240 // bytes; longer lines are compared by sentence

var sentenceEnds = strings.NewReplacer(". ", ".\n", "! ", "!\n", "? ", "?\n", "。", "。\n")

// sentences splits long lines into sentences, and sentences that are too long to show into words. rows has the original line
// numbers. The last line gets a newline, so that appending a line does not change it.
func sentences(s string) (pieces string, rows []int) {
	var b strings.Builder
	row := 0
	for line := range strings.Lines(s) {
		row++
		if line = strings.TrimSuffix(line, "\n"); len(line) > longLine {
			line = sentenceEnds.Replace(line)
		}
		for piece := range strings.SplitSeq(line, "\n") {
			if len(piece) > MaxLine {
				piece = strings.ReplaceAll(piece, " ", "\n")
			}
			b.WriteString(piece + "\n")
			for range strings.Count(piece, "\n") + 1 {
				rows = append(rows, row)
			}
		}
	}
	return b.String(), rows
}

func (d *Diff) add(mark byte, text string) {
	if len(d.Lines) < MaxLines {
		d.Lines = append(d.Lines, Line{mark, shortened(strings.TrimSuffix(text, "\n"), MaxLine)})
	} else if mark != '@' {
		d.LeftOut++
	}
}

func (d *Diff) hunk(lines []udiff.Line) {
	for _, l := range lines {
		mark := byte(' ')
		switch l.Kind {
		case udiff.Delete:
			d.Removed++
			mark = '-'
		case udiff.Insert:
			d.Added++
			mark = '+'
		}
		d.add(mark, l.Content)
	}
}

// shortened cuts a text at a rune boundary.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// excerpt returns the beginning of a text as a diff against an empty one.
func excerpt(text string, mark byte) *Diff {
	d := &Diff{Lines: []Line{}}
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > MaxExcerpt {
			d.LeftOut++
			continue
		}
		d.add(mark, line)
	}
	if mark == '+' {
		d.Added = n
	} else {
		d.Removed = n
	}
	return d
}

// sum digests the changed lines, wherever they are.
func (d *Diff) sum(kind string) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintln(h, kind)
	for _, l := range d.Lines {
		if l.Mark == '-' || l.Mark == '+' {
			fmt.Fprintf(h, "%c%s\n", l.Mark, l.Text)
		}
	}
	copy(sum[:], h.Sum(nil))
	return sum
}
