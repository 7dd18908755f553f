package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/extract"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/tables"
	"curtsy/storage/warc"
)

// Why a document is not read, or not to its end, beside the problems of captures.
const (
	missingRevisit = "revisit"   // no index of the crawl has the record that it repeats
	cutShort       = "truncated" // the archive has less than the answer
)

// mentions makes a row for each mention of a URL.
func mentions(ctx context.Context, in *Inputs, out *Out) (err error) {
	var crawls []crawl
	for _, c := range in.Crawls {
		judging, err := c.judging()
		if err != nil {
			return err
		}
		crawls = append(crawls, judging)
	}
	reader := &linksReader{crawls, in.temp, in.pages}
	all := newTable(reader)
	defer func() { err = errors.Join(err, all.Close()) }()
	for i, c := range in.Crawls {
		quiet := NewOut(out.table, nil) // what is amiss with the ledger is told with its own tables
		if err := c.decided(ctx, quiet, func(e *entry) error { return all.Line(i, &e.Line) }); err != nil {
			return err
		}
	}
	err = visit(ctx, in, out, visitor[*linksDocument]{
		size: fewRows,
		work: func(ctx context.Context, c *Capture) ([]*linksDocument, error) {
			d, err := c.mentions(ctx, reader, slices.Index(in.Crawls, c.Crawl))
			if d == nil || err != nil {
				return nil, err
			}
			return []*linksDocument{d}, nil
		},
		take: func(d *linksDocument) error { return errors.Join(all.Add(d), d.Close()) },
		drop: func(d *linksDocument) { _ = d.Close() },
	})
	if err != nil {
		return err
	}
	kind, why := out.table.Index("kind"), out.table.Index("why_not")
	return all.Rows(ctx, func(r tables.Row) error {
		if r[kind].Text() == kindUnread {
			out.Problems[r[why].Text()]++
		}
		return out.Row(r)
	})
}

// judging is how a crawl reads and judges links, by its settings. Without them the columns of scope are null.
func (c *Crawl) judging() (crawl, error) {
	l := crawl{Name: c.Name}
	settings, err := crawldir.ReadSettings(c.Dir)
	if err != nil {
		return l, nil //nolint:nilerr // a crawl directory is exported without its settings, too
	}
	l.Token, l.Previews = settings.Agent, settings.Previews
	l.Follow, _ = extract.ParseFollow(settings.Follow) // a word of an earlier version follows nothing now
	scope, err := settings.ScopeConfig()
	if err != nil {
		return l, nil //nolint:nilerr // as above
	}
	rels, err := extract.ParseRels(settings.FollowRel)
	if err != nil {
		return l, nil //nolint:nilerr // as above
	}
	if l.Scope, err = newJudge(scope, rels); err != nil {
		return l, fmt.Errorf("export: %w", err)
	}
	return l, nil
}

// mentions reads the mentions of a capture; nil where it has none.
func (c *Capture) mentions(ctx context.Context, reader *linksReader, crawl int) (*linksDocument, error) {
	s := source{
		Crawl: crawl, Key: c.Key, URL: c.Index.URL, Time: c.Index.Time, Generation: c.Crawl.generations[c.Index.Filename],
		Status: c.Index.Status, Header: http.Header{"Content-Type": {c.Index.Mime}},
	}
	of := c
	if c.Answer != nil && c.Answer.Revisit {
		var closer io.Closer
		if of, closer = c.original(); of == nil {
			of, s.Missing = c, missingRevisit
			s.Status = http.StatusOK // it confirms a page
		} else {
			defer closer.Close()
		}
	}
	if a := of.Answer; a != nil {
		if s.Header = a.Header; s.Missing == "" {
			s.Status = a.Status
		}
		body, err := of.Body(maxPage)
		if err != nil {
			return nil, err
		}
		if body != nil {
			var input extract.Input
			if err := c.r.fill(&input, body); err != nil {
				return nil, err
			}
			s.Body, s.Size = input.Body, input.Size
			s.Amiss = func() string { return of.ends() }
		}
	}
	if s.Missing == "" {
		s.Missing = of.Problem
	}
	d, err := reader.Read(ctx, s)
	if d == nil || err != nil {
		return nil, err
	}
	if l, ok := c.Decision(); ok {
		d.Decided(&l)
	}
	return d, nil
}

// ends says why a body that was read is not all of it; empty if it is.
func (c *Capture) ends() string {
	if c.Problem == "" && c.Answer.Truncated != "" {
		return cutShort
	}
	return c.Problem
}

// original is the capture that a revisit repeats; nil if no index of the crawl has it.
func (c *Capture) original() (*Capture, io.Closer) {
	refers := c.Answer.Refers
	if refers.URL == "" {
		return nil, nil
	}
	for l, err := range cdxj.Lookup(c.Crawl.index, refers.URL) {
		path, ok := c.Crawl.archive[l.Filename]
		if err != nil || !ok || !l.Time.Equal(refers.Date.Truncate(time.Second)) || l.Mime == "warc/revisit" {
			continue
		}
		rec, closer, err := warc.ReadAt(path, l.Offset)
		if err != nil {
			continue
		}
		a, err := answer.Read(rec, 0)
		if err == nil && strings.EqualFold(rec.Type, "response") && (refers.ID == "" || a.ID == refers.ID) {
			return &Capture{Crawl: c.Crawl, Index: l, Answer: a, r: c.r}, closer
		}
		closer.Close()
	}
	return nil, nil
}
