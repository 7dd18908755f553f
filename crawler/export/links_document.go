package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"curtsy/crawler/extract"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/spool"
)

// source is an archived answer.
type source struct {
	Crawl      int // its place in the Crawls of the Reader
	Key        string
	URL        string
	Time       time.Time
	Generation int64 // 0 where it is not known
	Status     int
	Header     http.Header
	Body       io.Reader // without codings; nil where there is none
	Size       int64     // bytes of Body, or 0
	Missing    string    // why there is no body; empty if there was none

	// Amiss, if not nil, is asked behind the body: why it is not all of it; empty if it is.
	Amiss func() string
}

// crawl is how a crawl reads and judges links.
type crawl struct {
	Name     string
	Previews bool // as extract.Input has it
	Follow   extract.Follow
	Token    string
	Scope    *judge // nil leaves the columns of scope null
}

// linksReader reads answers. It may be used by several goroutines at once.
type linksReader struct {
	crawls  []crawl
	dir     string // of temporary files; empty means the system's folder
	extract *extract.Extractor
}

// linksDocument is the mentions of one answer.
type linksDocument struct {
	head head
	n    int64
	says spool.Spool // the mentions, as lines of JSON
	err  error
}

// head is what the mentions of a document have in common.
type head struct {
	Crawl      int
	Key, URL   string
	Time       time.Time
	Generation int64
	NoFollow   bool // the document asks for it
	Kind       storage.Kind
	Depth      int
}

// mention is one mention of a URL.
type mention struct {
	Position           int64  // in its document, from 1
	Kind               string // a word of the column
	Element, Attribute string `json:",omitempty"`
	Rel                string `json:",omitempty"`
	Text               string `json:",omitempty"`
	Written            string `json:",omitempty"`
	URL                string `json:",omitempty"` // empty without one
	Why                string `json:",omitempty"` // why it is no link; empty if it is one
	Repeated, NoFollow bool
	Rels               extract.Rels
}

// Words of the columns kind and why_not that are of this package.
const (
	kindLink     = "link"
	kindEmbed    = "embed"
	kindRefresh  = "refresh"
	kindRedirect = "redirect"
	kindUnread   = "unread"

	whyWithin  = "same page"
	whyInert   = "no document"
	whyTooMany = "too many"
	whyNoLine  = "no decision"
)

// maxWritten is how many bytes of a reference are kept, and of a rel.
const maxWritten = 2 << 10

// Read reads the mentions of an answer; of one that has none, it returns nil. An error means that the body could not be
// read otherwise than a damaged archive can, that ctx is done, or that the disk fails.
func (r *linksReader) Read(ctx context.Context, s source) (*linksDocument, error) {
	url, err := canon.Parse(s.URL)
	if err != nil {
		return nil, nil //nolint:nilerr // no crawl of ours asks for it
	}
	d := &linksDocument{
		head: head{Crawl: s.Crawl, Key: s.Key, URL: s.URL, Time: s.Time, Generation: s.Generation},
		says: spool.Spool{Dir: r.dir, Pattern: "curtsy-links-*"},
	}
	switch {
	case s.Status >= 300 && s.Status < 400:
		err = r.redirect(d, url, s)
	case s.Status >= 200 && s.Status < 300 && s.Missing != "" && s.Body == nil:
		if r.crawls[s.Crawl].Follow.KindOf(mediatype.Value(s.Header), url.Path(), nil) != 0 {
			err = d.unread(s.Missing)
		}
	case s.Status >= 200 && s.Status < 300 && s.Body != nil:
		err = r.document(ctx, d, url, s)
	}
	if err == nil && d.n == 0 {
		return nil, d.Close()
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Decided says how the URL of the document was found.
func (d *linksDocument) Decided(l *storage.Line) { d.head.Kind, d.head.Depth = l.Kind, l.Depth }

// Close frees memory and disk.
func (d *linksDocument) Close() error { return d.says.Close() }

func (r *linksReader) redirect(d *linksDocument, from canon.URL, s source) error {
	written, ok := s.Header["Location"]
	if !ok || len(written) == 0 {
		return nil
	}
	m := mention{Kind: kindRedirect, Attribute: "Location", Written: written[0]}
	u, err := from.Resolve(strings.TrimSpace(written[0]))
	if err != nil {
		m.Why = string(canon.ReasonOf(err))
	}
	return d.add(&m, u)
}

func (d *linksDocument) unread(why string) error {
	return d.add(&mention{Kind: kindUnread, Why: why}, canon.URL{})
}

// document reads a body.
func (r *linksReader) document(ctx context.Context, d *linksDocument, url canon.URL, s source) error {
	head := make([]byte, 512)
	n, err := io.ReadFull(s.Body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("links: read the body of %s: %w", s.URL, err)
	}
	head = head[:n]
	c := r.crawls[s.Crawl]
	kind := c.Follow.KindOf(mediatype.Value(s.Header), url.Path(), head)
	if kind == 0 || n == 0 {
		return nil
	}
	in := extract.Input{
		URL: url, ContentType: mediatype.Value(s.Header), Header: s.Header, Previews: c.Previews, Token: c.Token,
		Body: io.MultiReader(strings.NewReader(string(head)), s.Body), Size: s.Size, Mention: d.tell,
	}
	var page extract.Page
	if kind == extract.KindPage {
		page, err = r.extract.HTML(ctx, in)
	} else {
		page, err = r.extract.Parts(ctx, in, kind)
	}
	if err = errors.Join(err, d.err); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	d.head.NoFollow = page.Robots.NoFollow
	why := page.Unparsed
	if why == "" && s.Amiss != nil {
		why = s.Amiss()
	}
	if why != "" {
		return d.unread(why)
	}
	return nil
}

// tell takes a mention in.
func (d *linksDocument) tell(m extract.Mention) {
	if d.err != nil {
		return
	}
	out := mention{
		Kind: kindLink, Element: m.Element, Attribute: m.Attr, Rel: m.Words, Text: m.Text, Written: m.Raw,
		Repeated: m.Fate == extract.Repeat, NoFollow: m.Rel.NoFollow, Rels: m.Rel.Rels(), Why: string(m.Reason),
	}
	switch {
	case m.Refresh:
		out.Kind = kindRefresh
	case m.Embed:
		out.Kind = kindEmbed
	}
	switch {
	case out.Why != "":
	case m.Fate == extract.Within:
		out.Why = whyWithin
	case m.Fate == extract.Inert:
		out.Why = whyInert
	case m.Fate == extract.TooMany:
		out.Why = whyTooMany
	}
	d.err = d.add(&out, m.URL)
}

// add writes down a mention of u, which may be zero. Its texts become valid UTF-8 as the table has them.
func (d *linksDocument) add(m *mention, u canon.URL) error {
	d.n++
	m.Position, m.URL = d.n, u.String()
	m.Rel, m.Written = cut(m.Rel, maxWritten), cut(m.Written, maxWritten)
	for _, s := range []*string{&m.Element, &m.Attribute, &m.Rel, &m.Text, &m.Written} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	if err := json.NewEncoder(&d.says).Encode(m); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	return nil
}

// cut is s without what goes beyond n bytes.
func cut(s string, n int) string { return s[:min(len(s), n)] }
