package check

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"curtsy/crawler/export"
	"curtsy/crawler/extract"
	"curtsy/frontier/canon"
	"curtsy/storage/cdxj"
	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
	"curtsy/storage/plainly"
	"curtsy/storage/sorted"
	"curtsy/storage/warc"
)

// reading is what one document says that matters. Nothing in it holds on to the document.
type reading struct {
	url      string
	page     uint64 // digest of the key
	anchored bool   // all its anchors are known
	unread   bool
	mentions int64
	left     int64 // mentions of what is beyond maxUnasked or maxNames
	found    map[subject]*mentioned
	order    []subject
	anchors  []uint64 // digests of page and name
}

// subject is what mentions are gathered by: what is amiss, and with what.
type subject struct {
	what what
	url  string // of a fragment with it; of an id, the id
}

type what uint8

const (
	ofLedger  what = iota // the ledger says that something is amiss with the URL, or nothing at all
	malformed             // it is no URL
	fragment
	insecure
	mixed
	duplicate
)

// mentioned is how often a document mentions something, and where first.
type mentioned struct {
	key    uint64 // of ofLedger, the digest of the key; of fragment, of page and name
	page   uint64 // of fragment, the page that should have it
	kind   Kind
	reason string
	places []Place
	count  int64
}

// worthReading leaves out what is certainly no page and no style sheet.
func worthReading(l cdxj.Line) bool {
	if l.Status >= 300 && l.Status != 304 {
		return false
	}
	for _, prefix := range []string{"font/", "video/", "audio/", "image/", "application/pdf", "application/zip", "application/javascript", "text/javascript"} {
		if strings.HasPrefix(l.Mime, prefix) {
			return l.Mime == "image/svg+xml"
		}
	}
	return true
}

// reader reads documents.
type reader struct{ told *told }

// read reads a capture; nil where it is none that counts, or no document.
func (r *reader) read(ctx context.Context, c *export.Capture) ([]*reading, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	u := c.URL()
	if u.IsZero() || c.Answer == nil {
		return nil, nil
	}
	d := &document{told: r.told, url: u, reading: &reading{url: u.String(), page: r.told.sum(u.Key()), found: map[subject]*mentioned{}}}
	a, ok := r.told.answered[d.page]
	if r.told.area != nil && !r.told.area.Covers(u) {
		return nil, nil // a leaf
	}
	if !ok || a.record != r.told.sum(c.Answer.ID) {
		return nil, nil // of an earlier generation, or asked for once more
	}
	whole, body, done, err := c.Whole(extract.MaxParse)
	if err != nil {
		return nil, err
	}
	if body == nil {
		switch extract.KindOf(c.Index.Mime, u.Path(), nil) {
		case extract.KindPage, extract.KindStyle, extract.KindSVG: // others are not read, see document
			d.unread = true
		}
		return d.some(), done()
	}
	text, release, err := c.All(ctx, body)
	defer release()
	c.End()
	if cut := errors.Is(err, warc.ErrTooLarge); err != nil && !cut {
		return nil, errors.Join(fmt.Errorf("check: read the body of %s: %w", d.reading.url, err), done())
	} else if cut || whole.Truncated != "" || c.Problem != "" {
		d.cut = true
	}
	d.document(mediatype.Value(whole.Header), text)
	return d.some(), done()
}

// document is a document that is read.
type document struct {
	*reading
	told *told
	url  canon.URL
	cut  bool
	ids  map[uint64]struct{} // digests

	repeated int                 // places of what it mentions behind the first of each
	refs     map[string]resolved // by the text of the reference, as long as there are few
}

type resolved struct {
	url canon.URL
	err error
}

// some is the reading, if there is something in it.
func (d *document) some() []*reading {
	if d.mentions == 0 && !d.unread && !d.anchored {
		return nil
	}
	return []*reading{d.reading}
}

func (d *document) document(contentType string, text []byte) {
	o := markup.Options{URL: d.url, ContentType: contentType}
	s := markup.Survey{Ref: d.mention}
	var read markup.Rewriter
	switch extract.KindOf(contentType, d.url.Path(), text[:min(len(text), mediatype.MaxSniff)]) {
	case extract.KindPage:
		d.ids, s.Anchor, d.anchored = map[uint64]struct{}{}, d.anchor, !d.cut
		read = markup.HTML
		if mediatype.Parse(contentType).IsXHTML() {
			read = markup.XHTML
		}
	case extract.KindStyle:
		read = markup.CSS
	case extract.KindSVG:
		read = markup.SVG
	default:
		return
	}
	if err := s.Of(read, text, o); err != nil || d.cut {
		d.anchored, d.unread, d.anchors = false, true, nil
	}
}

// anchor takes in a name that a fragment may mean.
func (d *document) anchor(name string, byID bool, at *markup.Place) {
	if len(d.anchors) == maxNames {
		d.cut = true // those behind it are not known
		return
	}
	sum := d.told.anchor(d.page, name)
	d.anchors = append(d.anchors, sum)
	if !byID {
		return
	}
	if _, met := d.ids[sum]; met {
		d.add(subject{duplicate, cut(name, maxShown)}, mentioned{reason: "id " + cut(name, maxShown)}, markup.Ref{Attr: "id"}, at)
	}
	d.ids[sum] = struct{}{}
}

// anchor is the digest of a name on a page.
func (t *told) anchor(page uint64, name string) uint64 {
	return t.sum(fmt.Sprintf("%x %s", page, name))
}

const (
	maxShown = 300     // bytes that are kept of what is no URL
	maxRefs  = 1 << 13 // references that are remembered by their text
	maxNames = 1 << 16 // anchors of a document, and distinct fragments that it links to
)

// mention takes in a mention of a URL.
func (d *document) mention(r markup.Ref, at *markup.Place) {
	kind := KindLink
	switch {
	case r.Role.Requisite(), r.Role == markup.Lazy:
		kind = KindRequisite
	case r.Role != markup.Link && r.Role != markup.Refresh:
		return // nobody follows it, and nothing shows it
	}
	d.mentions++
	to := d.resolve(r)
	if to.err != nil {
		reason := "invalid URL: " + string(canon.ReasonOf(to.err))
		if canon.ReasonOf(to.err) == canon.Scheme {
			wrong, meant := mistyped(r.Raw)
			if wrong == "" {
				return // mailto: and the like
			}
			reason = "invalid URL: unknown scheme " + wrong + ": (did you mean " + meant + ":?)"
		}
		d.add(subject{malformed, cut(r.Raw, maxShown)}, mentioned{kind: kind, reason: reason}, r, at)
		return
	}
	d.judge(to.url, kind, r, at)
	if kind == KindLink && !(r.Nested && to.url == d.url) { // a page within an attribute has names of its own
		d.fragment(to.url, r, at)
	}
}

func (d *document) resolve(r markup.Ref) resolved {
	key := r.Raw
	if r.Base != d.url || r.Charset != "" {
		u, err := r.URL()
		return resolved{u, err}
	}
	to, ok := d.refs[key]
	if ok {
		return to
	}
	to.url, to.err = r.URL()
	if d.refs == nil {
		d.refs = map[string]resolved{}
	}
	if len(d.refs) < maxRefs {
		d.refs[key] = to
	}
	return to
}

// judge holds a mention against what the ledger says.
func (d *document) judge(u canon.URL, kind Kind, r markup.Ref, at *markup.Place) {
	key := d.told.sum(u.Key())
	if kind == KindRequisite && u.Scheme() == "http" && d.url.Scheme() == "https" {
		d.add(subject{mixed, u.String()}, mentioned{kind: kind, reason: "http on a page by https"}, r, at)
	}
	if _, ok := d.told.answered[key]; ok {
		if kind == KindLink && u.Scheme() == "http" && d.told.secure(u) {
			d.add(subject{insecure, u.String()}, mentioned{kind: kind, reason: "https answers as well"}, r, at)
		}
		return
	}
	if s := d.told.amiss[key]; s != nil && s.verdict == good {
		return
	}
	if _, ok := d.told.rest[key]; ok {
		return // it is counted as left
	}
	d.add(subject{ofLedger, u.String()}, mentioned{key: key, kind: kind}, r, at)
}

// secure reports whether the same URL by https was answered.
func (t *told) secure(u canon.URL) bool {
	if u.Authority().Port() != "80" {
		return false
	}
	s, err := canon.Parse("https" + strings.TrimPrefix(u.String(), "http"))
	if err != nil {
		return false
	}
	_, ok := t.answered[t.sum(s.Key())]
	return ok
}

// add takes in a place of something. Of what is found often on a page, a few places are kept.
func (d *document) add(s subject, m mentioned, r markup.Ref, at *markup.Place) {
	was := d.found[s]
	if was == nil {
		most := maxUnasked
		if s.what == fragment {
			most = maxNames
		}
		if len(d.order) >= most && (s.what != ofLedger || !d.told.amiss[m.key].isAsked()) {
			d.left++
			return
		}
		was = &m
		s.url = strings.Clone(s.url)
		d.found[s] = was
		d.order = append(d.order, s)
	}
	was.count++
	if n := len(was.places); n == 0 || n < pagePlaces && d.repeated < maxUnasked {
		if n > 0 {
			d.repeated++
		}
		p := Place{Page: d.reading.url, Element: strings.Clone(r.Element), Attribute: strings.Clone(r.Attr), Text: at.Text()}
		p.Line, p.Column = at.Line()
		was.places = append(was.places, p)
	}
}

func cut(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "\uFFFD")
}

// mistyped is the scheme of a reference and the one that was meant, if it is one letter away from http or https, or two that
// changed places, and so was hardly meant; both empty for any other. No scheme of the IANA's registry is, but for shttp (RFC 2660).
func mistyped(ref string) (scheme, meant string) {
	scheme, rest, ok := strings.Cut(strings.TrimLeft(ref, " \t\n\f\r"), ":")
	scheme = strings.ToLower(scheme)
	if !ok || !strings.HasPrefix(rest, "/") || scheme == "shttp" {
		return "", ""
	}
	for _, meant = range []string{"http", "https"} {
		if plainly.Distance(scheme, meant) == 1 {
			return scheme, meant
		}
	}
	return "", ""
}

// fragment takes in the fragment of a link (HTML Standard 7.4.6.4): the name as it is written or without its percent
// encoding must be that of an anchor. Not looked for is what needs none: "#", "#top", text fragments (#:~:), and the
// routes of scripts (#/, #!).
func (d *document) fragment(u canon.URL, r markup.Ref, at *markup.Place) {
	written, _, _ := strings.Cut(strings.TrimPrefix(r.Fragment(), "#"), ":~:")
	if written == "" || strings.EqualFold(written, "top") || written[0] == '/' || written[0] == '!' {
		return
	}
	page := d.told.final(u)
	name := written
	if plain, err := url.PathUnescape(written); err == nil {
		name = plain
	}
	d.add(subject{fragment, u.String() + "#" + cut(written, maxShown)},
		mentioned{key: d.told.anchor(page, name), page: page, kind: KindFragment, reason: "no element has this id or name"}, r, at)
}

// fragments brings fragments and anchors together, in bounded memory. A row has the digest of page and name for its key, and
// is nil for an anchor, which comes before what mentions it.
type fragments struct {
	rows  *sorted.Rows[*wanted]
	pages map[uint64]struct{} // whose anchors are known
}

// sortMemory is how many bytes the sorter holds.
const sortMemory = 8 << 20

func newFragments(temp string) *fragments {
	return &fragments{rows: sorted.NewRows[*wanted](temp, sortMemory), pages: map[uint64]struct{}{}}
}

// wanted is a fragment that a page mentions.
type wanted struct {
	URL    string  `json:"u"`
	Page   uint64  `json:"p"`
	Places []Place `json:"o"`
	Count  int64   `json:"n"`
}

func (f *fragments) add(r *reading) error {
	if r.anchored {
		f.pages[r.page] = struct{}{}
	}
	for _, a := range r.anchors {
		if err := f.rows.Add(fmt.Sprintf("%016x a", a), nil); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return nil
}

func (f *fragments) mention(s subject, m *mentioned) error {
	if err := f.rows.Add(fmt.Sprintf("%016x b", m.key), &wanted{s.url, m.page, m.places, m.count}); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

// missing gives those fragments to see that no anchor of a page is for.
func (f *fragments) missing(see func(w wanted)) error {
	there := ""
	for row, err := range f.rows.All() {
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
		key, w := row.Key[:16], row.Value
		if w == nil {
			there = key
		} else if _, known := f.pages[w.Page]; known && there != key {
			see(*w)
		}
	}
	return nil
}
