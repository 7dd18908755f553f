package extract

import (
	"strings"
	"unicode"
	"unsafe"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"curtsy/crawler/extract/prune"
	"curtsy/frontier/canon"
	"curtsy/storage/markup"
)

// maxRemembered bounds the distinct references of a page that are remembered by text; others are resolved each time.
const maxRemembered = 2 * MaxLinks

// collector resolves and counts mentions and drops repeats.
type collector struct {
	base canon.URL
	self bool // the base is the page's own URL

	charset string // of the page, and of the queries in its links

	links   []Link
	repeats int
	dropped int
	refused map[canon.Reason]int

	sink  *mentionSink        // nil without Input.Mention
	refs  map[string]resolved // by the text of the reference
	keys  map[string]int      // index in found, by canonical key
	found []place
}

// resolved is the result for a reference: an index in found, or the reason why it is not a URL.
type resolved struct {
	at     int
	reason canon.Reason
}

// place has the index of a URL in links, plus one, as a link and as a requisite; zero means none.
type place struct{ link, embed int }

// add takes a mention of ref; l is the link without its URL.
func (c *collector) add(ref string, l Link) {
	raw := restore(ref)
	c.collect(raw, markup.EncodeQuery(markup.Strip(raw), c.charset), l)
}

// collect is add for a reference whose query is in UTF-8 already; raw is the reference as written.
func (c *collector) collect(raw, ref string, l Link) {
	if fate, at, reason := c.take(ref, l); c.sink != nil {
		c.sink.hand(c, raw, ref, l, fate, at, reason)
	}
}

// take takes a mention. It returns the place of its link, or the reason why it is not a URL.
func (c *collector) take(ref string, l Link) (fate Fate, place int, reason canon.Reason) {
	if (ref == "" || ref[0] == '#') && (c.self || l.Embed) {
		return Within, 0, "" // the page itself; a browser ignores an empty src
	}
	full := len(c.links) == MaxLinks
	r, known := c.refs[ref]
	if !known {
		if full {
			c.dropped++
			return TooMany, 0, ""
		}
		r, l.URL = c.resolve(ref)
	}
	if r.reason != "" {
		c.refuse(r.reason)
		return Refused, 0, r.reason
	}
	at := &c.found[r.at].link
	other := c.found[r.at].embed
	if l.Embed {
		at, other = &c.found[r.at].embed, c.found[r.at].link
	}
	switch {
	case *at > 0:
		first := &c.links[*at-1]
		first.Rel = first.Rel.and(l.Rel)
		first.Refresh = first.Refresh || l.Refresh
		c.repeats++
		return Repeat, *at - 1, ""
	case full:
		c.dropped++
		return TooMany, 0, ""
	default:
		if known {
			l.URL = c.links[other-1].URL
		}
		if c.links == nil {
			c.links = make([]Link, 0, 64)
		}
		c.links = append(c.links, l)
		*at = len(c.links)
		return Listed, *at - 1, ""
	}
}

func (c *collector) refuse(reason canon.Reason) {
	if c.refused == nil {
		c.refused = map[canon.Reason]int{}
	}
	c.refused[reason]++
}

// resolve resolves and remembers a reference. The URL is zero if it is refused.
func (c *collector) resolve(ref string) (r resolved, u canon.URL) {
	u, err := c.base.Resolve(ref)
	if err != nil {
		r.reason = canon.ReasonOf(err)
	} else if at, ok := c.keys[u.Key()]; ok {
		r.at = at
	} else {
		r.at = len(c.found)
		c.found = append(c.found, place{})
		c.keys[u.Key()] = r.at
	}
	if len(c.refs) < maxRemembered {
		c.refs[ref] = r
	}
	return r, u
}

func (c *collector) into(p *Page) {
	p.Links, p.Repeats, p.Dropped, p.Refused = c.links, c.repeats, c.dropped, c.refused
}

// MaxAnchor bounds Mention.Text in bytes.
const MaxAnchor = 1 << 10

const (
	maxAnchorNodes = 1 << 10 // nodes of a link that are read for its text: in XML, links may be nested
	maxOpened      = 1 << 13 // links remembered by mentionSink.isCopy
)

// Mention is one mention of a URL in a document, listed in Page.Links or not. Its strings are the site's, and may keep
// the whole document in memory.
type Mention struct {
	Link          // URL may be zero: see Reason
	Raw    string // the reference as the site wrote it; in HTML, character references are resolved
	Words  string // of a, area and link: the rel attribute
	Text   string // of a link, else the alt of its pictures; white space collapsed, at most MaxAnchor bytes
	Fate   Fate
	Reason canon.Reason // why there is no URL
}

// Fate is the result of a mention.
type Fate uint8

// Fates.
const (
	Listed  Fate = iota + 1 // the first mention of one of Page.Links
	Repeat                  // a further one
	TooMany                 // beyond MaxLinks
	Refused                 // not a canonical URL, see Mention.Reason
	Within                  // empty or a place in the page itself
	Inert                   // not a document, or not a place for links
)

// mentionSink passes mentions to Input.Mention.
type mentionSink struct {
	to     func(Mention)
	listed []bool // by place in the collector's links: it was passed as Listed

	// The present element.
	about  *html.Node
	words  string
	text   string
	texted bool // text is known
	again  bool // the parser copied it from an earlier link: it is not a mention

	shown  []byte             // buffer for text
	opened map[*byte]struct{} // see isCopy
}

// collect begins the links of a document.
func (w *walker) collect(base canon.URL) {
	w.links = collector{base: base, self: w.in.URL == base, refs: map[string]resolved{}, keys: map[string]int{}}
	if w.in.Mention != nil {
		w.links.sink = &mentionSink{to: w.in.Mention, opened: map[*byte]struct{}{}}
	}
}

func (t *mentionSink) element(n *html.Node) {
	t.about, t.words, t.text, t.texted, t.again = n, "", "", false, false
	switch n.DataAtom {
	case atom.A:
		t.again = t.isCopy(n)
		t.words = restore(attr(n, "rel"))
	case atom.Area, atom.Link:
		t.words = restore(attr(n, "rel"))
	}
}

// isCopy reports whether the parser re-opened a link after a block that ended before the link did (HTML Standard
// 13.2.4.3). Such an element shares the memory of the first one's values. Values of one byte have no separate memory, so
// that links without others count each time. So does a link after maxOpened others.
func (t *mentionSink) isCopy(n *html.Node) bool {
	for _, a := range n.Attr {
		if len(a.Val) < 2 {
			continue
		}
		at := unsafe.StringData(a.Val)
		_, met := t.opened[at]
		if len(t.opened) >= maxOpened {
			clear(t.opened)
		}
		t.opened[at] = struct{}{}
		return met
	}
	return false
}

// hand passes a mention of ref. at is the place of its link, if it has one.
func (t *mentionSink) hand(c *collector, raw, ref string, l Link, fate Fate, at int, reason canon.Reason) {
	if t.again && !l.Embed {
		return
	}
	m := Mention{Link: l, Raw: raw, Fate: fate, Reason: reason}
	switch fate {
	case Listed, Repeat:
		m.URL, m.Fate = c.links[at].URL, Repeat
		for len(t.listed) <= at {
			t.listed = append(t.listed, false)
		}
		if !t.listed[at] {
			m.Fate, t.listed[at] = Listed, true
		}
	case Within:
		if ref != "" || !l.Embed {
			m.URL, _ = c.base.Resolve(ref)
		}
	case TooMany, Inert:
		var err error
		if m.URL, err = c.base.Resolve(ref); err != nil {
			m.Reason = canon.ReasonOf(err)
		}
	}
	switch {
	case t.about == nil:
	case !l.Embed:
		m.Words, m.Text = t.words, t.anchor()
	case l.Attr == "href" || l.Attr == "imagesrcset":
		m.Words = t.words
	}
	t.to(m)
}

// inert passes a mention that is not taken.
func (c *collector) inert(ref string, l Link) {
	if c.sink != nil {
		raw := restore(ref)
		c.sink.hand(c, raw, markup.Strip(raw), l, Inert, 0, "")
	}
}

// anchor returns the text of the present element.
func (t *mentionSink) anchor() string {
	if !t.texted {
		t.texted = true
		switch {
		case t.about.Data == "a":
			t.text = t.shows(t.about)
		case t.about.DataAtom == atom.Area:
			t.shown = collapsed(t.shown[:0], restore(attr(t.about, "alt")))
			t.text = t.taken()
		}
	}
	return t.text
}

// shows returns the text in an element or, without any, the alt of its pictures.
func (t *mentionSink) shows(root *html.Node) string {
	t.shown = t.shown[:0]
	left := maxAnchorNodes
	pictures := false
	for n := root.FirstChild; n != nil && left > 0 && len(t.shown) <= MaxAnchor; left-- {
		switch {
		case n.Type == html.TextNode:
			t.shown = collapsed(t.shown, restore(n.Data))
		case n.Type == html.ElementNode && prune.Parts(wasTag(n)):
			t.shown = collapsed(t.shown, " ")
		}
		pictures = pictures || n.DataAtom == atom.Img
		n = behind(n, root, silent)
	}
	if text := t.taken(); text != "" || !pictures {
		return text
	}
	left = maxAnchorNodes
	for n := root.FirstChild; n != nil && left > 0 && len(t.shown) <= MaxAnchor; left-- {
		if n.DataAtom == atom.Img {
			t.shown = collapsed(collapsed(t.shown, restore(attr(n, "alt"))), " ")
		}
		n = behind(n, root, silent)
	}
	return t.taken()
}

// taken returns the gathered text and clears the buffer.
func (t *mentionSink) taken() string {
	s := bounded(strings.TrimSuffix(string(t.shown), " "), MaxAnchor)
	t.shown = t.shown[:0]
	return s
}

// collapsed appends s with white space collapsed, also with that at the end of b. It stops after MaxAnchor bytes.
func collapsed(b []byte, s string) []byte {
	for _, r := range s {
		switch {
		case len(b) > MaxAnchor:
			return b
		case !unicode.IsSpace(r):
			b = append(b, string(r)...)
		case len(b) > 0 && b[len(b)-1] != ' ':
			b = append(b, ' ')
		}
	}
	return b
}
