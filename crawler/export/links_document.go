package export

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
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
	dir     string
	extract *extract.Extractor
	seeds   [2]maphash.Seed
}

// newLinksReader reads answers of crawls. Temporary files go to dir; empty means the system's folder.
func newLinksReader(dir string, crawls []crawl, x *extract.Extractor) *linksReader {
	return &linksReader{crawls: crawls, dir: dir, extract: x, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// pattern is of the names of temporary files.
const pattern = "curtsy-links-*"

// linksDocument is the mentions of one answer.
type linksDocument struct {
	head  head
	n     int64
	says  spool.Spool // the mentions
	keys  spool.Spool // the digest of each one's target, zeros without one
	coder *coder      // writes says
	err   error
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
	Mentions   int64
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
// linksRead otherwise than a damaged archive can, that ctx is done, or that the disk fails.
func (r *linksReader) Read(ctx context.Context, s source) (*linksDocument, error) {
	url, err := canon.Parse(s.URL)
	if err != nil {
		return nil, nil //nolint:nilerr // no crawl of ours asks for it
	}
	d := &linksDocument{
		head: head{Crawl: s.Crawl, Key: s.Key, URL: s.URL, Time: s.Time, Generation: s.Generation},
		says: spool.Spool{Dir: r.dir, Pattern: pattern},
		keys: spool.Spool{Dir: r.dir, Pattern: pattern},
	}
	d.coder = newEncoder(s.URL, &d.says)
	switch {
	case s.Status >= 300 && s.Status < 400:
		err = r.redirect(d, url, s)
	case s.Status >= 200 && s.Status < 300 && s.Missing != "" && s.Body == nil:
		if r.crawls[s.Crawl].Follow.KindOf(mediatype.Value(s.Header), url.Path(), nil) != 0 {
			err = r.unread(d, s.Missing)
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
func (d *linksDocument) Close() error { return errors.Join(d.says.Close(), d.keys.Close()) }

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
	return r.add(d, &m, u)
}

func (r *linksReader) unread(d *linksDocument, why string) error {
	return r.add(d, &mention{Kind: kindUnread, Why: why}, canon.URL{})
}

// document reads a body.
func (r *linksReader) document(ctx context.Context, d *linksDocument, url canon.URL, s source) error {
	head := make([]byte, 512)
	n, err := io.ReadFull(s.Body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("links: read the body of %s: %w", s.URL, err)
	}
	head = head[:n]
	kind := r.crawls[s.Crawl].Follow.KindOf(mediatype.Value(s.Header), url.Path(), head)
	if kind == 0 || n == 0 {
		return nil
	}
	in := r.input(d, url, s)
	in.Body, in.Size = io.MultiReader(strings.NewReader(string(head)), s.Body), s.Size
	var page extract.Page
	if kind == extract.KindPage {
		page, err = r.extract.HTML(ctx, in)
	} else {
		page, err = r.extract.Parts(ctx, in, kind)
	}
	if err = errors.Join(err, d.err); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	return r.ends(d, page, s)
}

// input is how a document is read, but for its body.
func (r *linksReader) input(d *linksDocument, url canon.URL, s source) extract.Input {
	c := r.crawls[s.Crawl]
	return extract.Input{
		URL: url, ContentType: mediatype.Value(s.Header), Header: s.Header, Previews: c.Previews, Token: c.Token,
		Mention: func(m extract.Mention) { r.tell(d, m) },
	}
}

// ends notes what a document says behind its mentions.
func (r *linksReader) ends(d *linksDocument, page extract.Page, s source) error {
	d.head.NoFollow = page.Robots.NoFollow
	if page.Unparsed != "" {
		return r.unread(d, page.Unparsed)
	}
	if s.Amiss != nil {
		if why := s.Amiss(); why != "" {
			return r.unread(d, why)
		}
	}
	return nil
}

// tell takes a mention in.
func (r *linksReader) tell(d *linksDocument, m extract.Mention) {
	if d.err != nil {
		return
	}
	out := mention{
		Kind: kindLink, Element: m.Element, Attribute: m.Attr, Rel: m.Words, Text: m.Text, Written: m.Raw,
		Repeated: m.Fate == extract.Repeat, NoFollow: m.Rel.NoFollow, Rels: relsOf(m.Rel), Why: string(m.Reason),
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
	d.err = r.add(d, &out, m.URL)
}

// add writes a mention of u down, which may be zero.
func (r *linksReader) add(d *linksDocument, m *mention, u canon.URL) error {
	m.URL = u.String()
	d.n++
	if err := d.coder.encode(*m); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	var sum [sumSize]byte
	if !u.IsZero() {
		sum = r.sum(d.head.Crawl, u.Key())
	}
	if _, err := d.keys.Write(sum[:]); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	return nil
}
