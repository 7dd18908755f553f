package export

import (
	"context"
	"errors"
	"strings"

	"curtsy/storage/cdxj"
	"curtsy/storage/tables"
)

// Reasons for pages without a row in the table duplicates, besides those of the table text.
const (
	leftPage  = "not-a-page"
	leftShort = "few-words"
	leftAlone = "no-duplicates"
)

// Duplicates finds similar pages of all crawls. It counts other captures in out, which may be nil.
func (in *Inputs) Duplicates(ctx context.Context, out *Out) (f *finder, pages int64, err error) {
	if out == nil {
		out = NewOut(&tables.Duplicates, nil)
	}
	f = newFinder(in.temp, 0)
	quick := *in
	quick.NoLanguage = true
	succeeded := func(l cdxj.Line) bool { return l.Status >= 200 && l.Status <= 299 }
	err = visit(ctx, &quick, out, visitor[seenPage]{size: batchSize, wants: succeeded, work: sketched, take: func(p seenPage) error {
		if p.left != "" {
			out.Left(p.left, 1)
			return nil
		}
		pages++
		if p.copy {
			return f.AddCopy(p.page, p.payload)
		}
		return f.Add(p.page, &p.sketch, p.payload)
	}})
	in.sorted, in.damaged = quick.sorted, quick.damaged
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, pages, nil
}

// seenPage is a page, or the reason why a capture is not one.
type seenPage struct {
	page   neardupPage
	sketch Sketch
	left   string

	payload uint64 // a hash of its digest, 0 for none
	copy    bool   // another record has the payload
}

func sketched(ctx context.Context, c *Capture) ([]seenPage, error) {
	switch a := c.Answer; {
	case a == nil:
		return []seenPage{{left: leftUnread}}, nil
	case a.Revisit && (a.Refers.URL == "" || a.Refers.URL == c.Index.URL || c.Index.Digest == ""):
		return []seenPage{{left: leftRevisit}}, nil
	case a.Revisit && !a.Type().IsPage(nil):
		return []seenPage{{left: leftPage}}, nil
	case a.Revisit:
		return []seenPage{{page: pageOf(c), payload: payloadOf(c), copy: true}}, nil
	case a.Status < 200 || a.Status > 299:
		return []seenPage{{left: leftStatus}}, nil
	}
	p, err := c.Page(ctx)
	switch {
	case err != nil:
		return nil, err
	case !p.Is:
		return []seenPage{{left: leftPage}}, nil
	}
	return []seenPage{{page: pageOf(c), payload: payloadOf(c), sketch: p.Sketch}}, nil
}

func pageOf(c *Capture) neardupPage {
	return neardupPage{Key: c.Key, URL: strings.ReplaceAll(c.Index.URL, "\x00", ""), Fetched: c.Index.Time}
}

// payloadOf returns a hash of the payload's digest in the index; 0 for none.
func payloadOf(c *Capture) uint64 {
	if c.Index.Digest == "" {
		return 0
	}
	return fnv1a(c.Index.Digest)
}

func duplicates(ctx context.Context, in *Inputs, out *Out) (err error) {
	f, pages, err := in.Duplicates(ctx, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for m, err := range f.All(ctx) {
		if err != nil {
			return err
		}
		if err := out.Row(m.Row()); err != nil {
			return err
		}
	}
	out.Left(leftShort, f.Short())
	out.Left(leftRevisit, f.Orphans()) // of short pages, pictures and the like
	out.Left(leftAlone, pages-f.Short()-f.Orphans()-out.Rows)
	return nil
}
