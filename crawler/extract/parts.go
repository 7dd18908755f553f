package extract

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage/markup"
)

// Parts reads what a style sheet, an SVG document, a web manifest, a script, another document in XML or a feed names. It waits as HTML does, and errs as HTML
// does. Title, Base, Charset and text are those of pages alone.
func (x *Extractor) Parts(ctx context.Context, in Input, kind Kind) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, failed(in, err)
	}
	page := Page{Base: in.URL, Robots: HeaderDirectives(in.Header, in.Token)}
	if in.Body == nil {
		return page, nil
	}
	release, err := x.turn(ctx, in)
	if err != nil {
		return Page{}, failed(in, err)
	}
	defer release()
	if kind == KindFeed {
		return x.readFeed(ctx, in, page)
	}
	src := &source{done: ctx.Done(), body: in.Body, left: MaxParse}
	body, err := octets(src, in.Size)
	switch {
	case errors.Is(err, errDone):
		return Page{}, failed(in, ctx.Err())
	case err != nil:
		return Page{}, failed(in, err)
	case src.over:
		page.Unparsed = UnparsedLong
	}
	w := walker{in: in, page: &page}
	w.collect(in.URL)
	o := markup.Options{URL: in.URL, ContentType: in.ContentType}
	switch kind {
	case KindStyle:
		err = markup.FindCSS(body, o, w.mention)
	case KindSVG:
		err = markup.FindSVG(body, o, w.mention)
	case KindScript:
		err = markup.FindModule(body, o, w.mention)
	case KindXML:
		err = markup.FindXML(body, o, w.mention)
	case KindManifest:
		err = markup.FindManifest(body, o, w.mention)
	}
	if err != nil && page.Unparsed == "" {
		page.Unparsed = UnparsedParts
	}
	w.links.into(&page)
	return page, nil
}

// Turn waits until a document of so many bytes may be read: large ones of more than MaxParse bytes together are never
// read at once. Small ones do not wait. Whoever calls it sets Input.Turn, so that HTML does not wait again.
func (x *Extractor) Turn(ctx context.Context, size int64) (release func(), err error) {
	weight := min(size, MaxParse)
	switch {
	case size <= 0: // not known
		weight = MaxParse
	case size <= largeTree:
		return func() {}, nil
	}
	if err := x.large.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() {
		collect(size)
		x.large.Release(weight)
	}, nil
}

// collect frees what was read of a large document before more is read, of this one or the next: a collection under way
// would count it as alive.
func collect(size int64) {
	if size <= 0 || size > MaxParse/2 {
		runtime.GC()
	}
}

// turn is Turn for a document whose reader may have its turn.
func (x *Extractor) turn(ctx context.Context, in Input) (release func(), err error) {
	if in.Turn {
		return func() {}, nil
	}
	return x.Turn(ctx, in.Size)
}

// octets reads all that src allows; there should be about size. One that turns out to be large is given room for the
// largest at once: a buffer that is doubled is held twice.
func octets(src io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	if size <= 0 {
		if _, err := io.CopyN(&b, src, largeTree); errors.Is(err, io.EOF) {
			return b.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
		size = MaxParse
	}
	collect(size)
	b.Grow(int(min(size, MaxParse)) + bytes.MinRead)
	if _, err := b.ReadFrom(src); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// mention takes a requisite or a link that package markup found.
func (w *walker) mention(r markup.Ref) {
	embed := r.Role.Requisite() || r.Role == markup.Lazy
	taken := embed || r.Role == markup.Link
	if !taken && w.links.tell == nil {
		return
	}
	ref := r.Raw
	if r.Base != w.links.base { // a document within has its own
		u, err := r.URL()
		if err != nil {
			w.mentionRefused(r, canon.ReasonOf(err), taken, embed)
			return
		}
		ref = u.String()
	}
	if len(ref) <= canon.MaxLength { // else it is refused, and need not be kept apart from the whole document
		ref = strings.Clone(ref)
	}
	l := Link{Element: strings.Clone(r.Element), Attr: strings.Clone(r.Attr), Embed: embed, Rel: relOf(r.Rel)}
	if !taken {
		w.links.inert(ref, l)
		return
	}
	w.links.collect(restore(r.Raw), strip(restore(ref)), l)
}

// mentionRefused takes a mention whose reference is no canonical URL.
func (w *walker) mentionRefused(r markup.Ref, reason canon.Reason, taken, embed bool) {
	if taken {
		w.links.refuse(reason)
	}
	if t := w.links.tell; t != nil {
		fate := Refused
		if !taken {
			fate = Inert
		}
		t.hand(&w.links, restore(r.Raw), r.Raw, Link{Element: r.Element, Attr: r.Attr, Embed: embed}, fate, 0, reason)
	}
}
