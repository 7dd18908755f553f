package extract

import (
	"context"
	"errors"
	"slices"
)

// Excerpt is what of a page its mentions stand in: the page as it was pruned, with the text of its links. To keep it
// costs a crawl next to nothing, and the mentions that are read of it later are those of the page, for they are read so
// of a page as well.
type Excerpt struct {
	Charset string // of the page, as Page has it: the text is UTF-8
	Text    []byte
}

// errExcerpt is why an Excerpt has no mentions. They are to be read of the page, then.
var errExcerpt = errors.New("extract: no tree can be made of the excerpt")

// keep fills an excerpt in, in the memory that it has.
func (e *Excerpt) keep(text []byte, charset string) {
	e.Charset, e.Text = charset, append(slices.Grow(e.Text[:0], len(text)), text...)
}

// Empty reports whether nothing was kept of a page: it is large, in XML, or cannot be pruned.
func (e *Excerpt) Empty() bool { return e == nil || len(e.Text) == 0 }

// Excerpt reads the mentions of a page of its excerpt, which HTML has made with the same Input. Title and text of the
// page are not in it, nor is its Body read.
func (x *Extractor) Excerpt(ctx context.Context, in Input, e Excerpt) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, failed(in, err)
	}
	doc := tree(e.Text)
	if doc == nil {
		return Page{}, failed(in, errExcerpt)
	}
	page := Page{Base: in.URL, Charset: e.Charset, Robots: HeaderDirectives(in.Header, in.Token)}
	walk(in, doc, &page, newBudget())
	return page, nil
}
