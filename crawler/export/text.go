package export

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"curtsy/crawler/extract"
	"curtsy/storage/mediatype"
	"curtsy/storage/tables"
	pagetext "curtsy/storage/text"
)

// Reasons for captures without a row in the table text.
const (
	leftRevisit = "revisit"
	leftStatus  = "not-2xx"
	leftType    = "not-text"
	leftRobots  = "robots-txt"
	leftUnread  = "unreadable"
)

const fewRows = 2 // captures of a batch if rows may have megabytes

func texts(ctx context.Context, in *Inputs, out *Out) error {
	f := newFiller(&tables.Reading)
	var mu sync.Mutex
	left := map[string]int64{}
	err := visit(ctx, in, out, visitor[tables.Row]{size: fewRows, take: out.Row, work: func(ctx context.Context, c *Capture) ([]tables.Row, error) {
		r := f.row()
		why, err := r.reading(ctx, c)
		if why != "" {
			mu.Lock()
			left[why]++
			mu.Unlock()
		}
		if why != "" || err != nil {
			return nil, err
		}
		return []tables.Row{r.r}, nil
	}})
	for why, n := range left {
		out.Left(why, n)
	}
	return err
}

// reading sets the columns of a capture's text; left is the reason if it has no row.
func (r row) reading(ctx context.Context, c *Capture) (left string, err error) {
	switch a := c.Answer; {
	case a == nil:
		return leftUnread, nil
	case a.Revisit:
		return leftRevisit, nil
	case a.Status < 200 || a.Status > 299:
		return leftStatus, nil
	}
	p, is, err := c.text(ctx)
	if err != nil {
		return "", err
	}
	if l, _ := c.Decision(); subset(c, l.Decision) == "robotstxt" {
		return leftRobots, nil
	}
	if !is {
		return leftType, nil
	}
	r.set("url_surtkey", tables.Text(c.Key))
	r.set("url", tables.Text(c.Index.URL))
	r.set("fetch_time", tables.Instant(c.Index.Time))
	r.set("crawl", tables.Text(c.Crawl.Name))
	r.set("content_digest", tables.Some(c.Index.Digest))
	r.set("content_mime_type", tables.Some(c.Answer.Type().Name))
	r.set("charset", tables.Some(p.Charset))
	r.spoken(&p)
	r.set("text", tables.Some(p.Whole))
	r.set("text_octets", tables.Long(int64(len(p.Whole))))
	r.set("text_cut", tables.Some(p.Cut))
	r.set("main_text", tables.Some(p.Main))
	r.set("main_octets", tables.Long(int64(len(p.Main))))
	if p.Main != "" {
		r.set("main_share", tables.Float(p.Share))
	}
	r.set("main_missing", tables.Some(p.MainMissing()))
	r.set("warc_record_id", tables.Some(c.Answer.ID))
	r.set("warc_filename", tables.Text(c.File))
	r.set("warc_record_offset", tables.Long(c.Index.Offset))
	r.set("warc_record_length", tables.Long(c.Index.Length))
	r.set("problem", tables.Some(c.Problem))
	return "", nil
}

func (r row) spoken(p *pagetext.Page) {
	r.language(p.Language)
	r.set("language_reliable", tables.Flag(p.Language.Reliable))
	if p.Language.Code() != "" {
		r.set("language_share", tables.Float(p.Language.Share))
	}
	tag, by := p.Declared.First()
	r.set("language_declared", tables.Some(tag))
	r.set("language_declared_by", tables.Some(by))
}

// language sets the main language, as ISO 639-1 if possible, and all languages as in Common Crawl.
func (r row) language(l pagetext.Result) {
	r.set("language", tables.Some(cmp.Or(pagetext.Two(l.Code()), l.Code())))
	r.set("content_languages", tables.Some(l.List()))
}

// text reads the text of the body; is reports whether its type has a text.
func (c *Capture) text(ctx context.Context) (p pagetext.Page, is bool, err error) {
	body, err := c.Body(pagetext.MaxRead + 1)
	if body == nil {
		return p, false, err
	}
	in := bufio.NewReaderSize(body, mediatype.MaxSniff)
	if _, _, isPage := c.media(in); !isPage && !c.isPlain() {
		return p, false, nil
	}
	var input extract.Input
	if err := c.r.fill(&input, in); err != nil {
		return p, false, err
	}
	release, err := c.r.pages.Turn(ctx, input.Size)
	if err != nil {
		return p, false, fmt.Errorf("export: %w", err)
	}
	defer release()
	p, err = pagetext.Read(ctx, c.textInput(input.Body, false))
	return p, err == nil, err
}

func (c *Capture) isPlain() bool { return c.Answer.Type().Name == "text/plain" }

func (c *Capture) textInput(body io.Reader, wholeOnly bool) pagetext.Input {
	return pagetext.Input{
		ContentType:     mediatype.Value(c.Answer.Header),
		ContentLanguage: strings.Join(c.Answer.Header.Values("Content-Language"), ", "),
		Body:            body,
		WholeOnly:       wholeOnly,
	}
}
