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

// reading is the relevant content of a document. It does not reference the document.
type reading struct {
	url      string
	page     uint64 // digest of the key
	anchored bool   // all its anchors are in anchors
	unread   bool
	mentions int64
	left     int64 // mentions beyond maxUnasked or maxNames
	found    map[subject]*mentioned
	order    []subject
	anchors  []uint64 // digests of page and name
}

// subject groups mentions by problem.
type subject struct {
	what what
	url  string // with the fragment of a fragment; of a duplicate, the ID
}

type what uint8

const (
	ofLedger  what = iota // the ledger reports a problem with the URL, or lacks it
	malformed             // an invalid URL
	fragment
	insecure
	mixed
	duplicate
)

// mentioned counts the mentions of a subject in a document.
type mentioned struct {
	key    uint64 // of ofLedger, the digest of the key; of fragment, that of page and name
	page   uint64 // of fragment, the target page
	kind   Kind
	reason string
	places []Place
	count  int64
}

// worthReading excludes media types that are neither pages nor style sheets.
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

type reader struct{ ledger *ledgerIndex }

// read reads a capture; nil if it does not count or is not a document.
func (r *reader) read(ctx context.Context, c *export.Capture) ([]*reading, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	u := c.URL()
	if u.IsZero() || c.Answer == nil {
		return nil, nil
	}
	d := &document{ledger: r.ledger, url: u, reading: &reading{url: u.String(), page: r.ledger.sum(u.Key()), found: map[subject]*mentioned{}}}
	a, ok := r.ledger.answered[d.page]
	if r.ledger.area != nil && !r.ledger.area.Covers(u) {
		return nil, nil // a leaf
	}
	if !ok || a.record != r.ledger.sum(c.Answer.ID) {
		return nil, nil // of an earlier generation, or requested again
	}
	whole, body, done, err := c.Whole(extract.MaxParse)
	if err != nil {
		return nil, err
	}
	if body == nil {
		switch extract.KindOf(c.Index.Mime, u.Path(), nil) {
		case extract.KindPage, extract.KindStyle, extract.KindSVG: // document reads no others
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

// document is a document in progress.
type document struct {
	*reading
	ledger *ledgerIndex
	url    canon.URL
	cut    bool
	ids    map[uint64]struct{} // digests

	repeated int                 // places after the first of each subject
	refs     map[string]resolved // cache by the text of the reference
}

type resolved struct {
	url canon.URL
	err error
}

// some returns the reading, unless it is empty.
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

// anchor adds a name that a fragment may refer to.
func (d *document) anchor(name string, byID bool, at *markup.Place) {
	if len(d.anchors) == maxNames {
		d.cut = true // further ones are unknown
		return
	}
	sum := d.ledger.anchor(d.page, name)
	d.anchors = append(d.anchors, sum)
	if !byID {
		return
	}
	if _, known := d.ids[sum]; known {
		d.add(subject{duplicate, cut(name, maxShown)}, mentioned{reason: "id " + cut(name, maxShown)}, markup.Ref{Attr: "id"}, at)
	}
	d.ids[sum] = struct{}{}
}

// anchor digests a name on a page.
func (t *ledgerIndex) anchor(page uint64, name string) uint64 {
	return t.sum(fmt.Sprintf("%x %s", page, name))
}

const (
	maxShown = 300     // bytes of an invalid URL
	maxRefs  = 1 << 13 // cached references
	maxNames = 1 << 16 // anchors of a document, and distinct fragments that it links to
)

// mention adds a mention of a URL.
func (d *document) mention(r markup.Ref, at *markup.Place) {
	kind := KindLink
	switch {
	case r.Role.Requisite(), r.Role == markup.Lazy:
		kind = KindRequisite
	case r.Role != markup.Link && r.Role != markup.Refresh:
		return // neither followed nor shown
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
	if kind == KindLink && !(r.Nested && to.url == d.url) { // a page in an attribute has its own anchors
		d.fragment(to.url, r, at)
	}
}

func (d *document) resolve(r markup.Ref) resolved {
	if r.Base != d.url || r.Charset != "" {
		u, err := r.URL()
		return resolved{u, err}
	}
	to, ok := d.refs[r.Raw]
	if ok {
		return to
	}
	to.url, to.err = r.URL()
	if d.refs == nil {
		d.refs = map[string]resolved{}
	}
	if len(d.refs) < maxRefs {
		d.refs[r.Raw] = to
	}
	return to
}

// judge compares a mention with the ledger.
func (d *document) judge(u canon.URL, kind Kind, r markup.Ref, at *markup.Place) {
	key := d.ledger.sum(u.Key())
	if kind == KindRequisite && u.Scheme() == "http" && d.url.Scheme() == "https" {
		d.add(subject{mixed, u.String()}, mentioned{kind: kind, reason: "http on a page by https"}, r, at)
	}
	if _, ok := d.ledger.answered[key]; ok {
		if kind == KindLink && u.Scheme() == "http" && d.ledger.secure(u) {
			d.add(subject{insecure, u.String()}, mentioned{kind: kind, reason: "https answers as well"}, r, at)
		}
		return
	}
	if s := d.ledger.amiss[key]; s != nil && s.verdict == good {
		return
	}
	if _, ok := d.ledger.rest[key]; ok {
		return // counted in Result.Left
	}
	d.add(subject{ofLedger, u.String()}, mentioned{key: key, kind: kind}, r, at)
}

// secure reports whether the https form of the URL works.
func (t *ledgerIndex) secure(u canon.URL) bool {
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

// add adds a place, up to pagePlaces of a subject.
func (d *document) add(s subject, m mentioned, r markup.Ref, at *markup.Place) {
	was := d.found[s]
	if was == nil {
		most := maxUnasked
		if s.what == fragment {
			most = maxNames
		}
		if len(d.order) >= most && (s.what != ofLedger || !d.ledger.amiss[m.key].isAsked()) {
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

// mistyped returns the scheme of a reference and the intended one, if it is http or https with one letter wrong or two swapped;
// otherwise both are empty. Of the registered schemes only shttp (RFC 2660) is so close.
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

// fragment adds the fragment of a link (HTML Standard 7.4.6.4): its name as written, or percent-decoded, must be an anchor. It
// skips fragments that need none: "#", "#top", text fragments (#:~:), and the routes of scripts (#/, #!).
func (d *document) fragment(u canon.URL, r markup.Ref, at *markup.Place) {
	written, _, _ := strings.Cut(strings.TrimPrefix(r.Fragment(), "#"), ":~:")
	if written == "" || strings.EqualFold(written, "top") || written[0] == '/' || written[0] == '!' {
		return
	}
	page := d.ledger.final(u)
	name := written
	if plain, err := url.PathUnescape(written); err == nil {
		name = plain
	}
	d.add(subject{fragment, u.String() + "#" + cut(written, maxShown)},
		mentioned{key: d.ledger.anchor(page, name), page: page, kind: KindFragment, reason: "no element has this id or name"}, r, at)
}

// fragments joins fragments and anchors by a digest of page and name. An anchor's row is nil and precedes its fragments.
type fragments struct {
	rows  *sorted.Rows[*wanted]
	pages map[uint64]struct{} // with known anchors
}

const sortMemory = 8 << 20 // bytes

func newFragments(temp string) *fragments {
	return &fragments{rows: sorted.NewRows[*wanted](temp, sortMemory), pages: map[uint64]struct{}{}}
}

// wanted is a fragment that a page links to.
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

// missing calls see for fragments without an anchor.
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
