package markup

import (
	"html"
	"slices"
	"strings"

	"curtsy/frontier/canon"
)

// maxPages bounds nested pages in srcdoc attributes. Options.Removed reports deeper ones as unread.
const maxPages = 3

type htmlDoc struct {
	doc
	s     string
	depth int

	charset string // of the page's queries; "" for UTF-8, and for a page in an attribute

	to       sink
	held     bool   // edits wait for the end of the tag, which decides on removals
	edits    []edit // that wait
	noframes bool   // within noframes
	xml      bool   // text of style elements has character references
}

func (h *htmlDoc) run() {
	h.base = pageBase(h.s, h.base)
	h.self = h.base == h.o.URL
	h.tags(scanner{s: h.s})
}

func (h *htmlDoc) tags(z scanner) {
	t, ok := z.next() // one variable to allocate once
	for ok && h.err == nil {
		h.tag(&t)
		t, ok = z.next()
	}
}

// pageBase returns the document base URL like package extract: of the first base element with an href, else own. It is
// zero if that is not on the web (HTML Standard 2.4.3).
func pageBase(s string, own canon.URL) canon.URL {
	if !mentionsBase(s) {
		return own
	}
	z := scanner{s: s}
	for {
		t, ok := z.next()
		if !ok {
			return own
		}
		a := t.attribute("href")
		if t.name != "base" || t.foreign || a == nil {
			continue
		}
		return BaseURL(Strip(decode(s[a.start:a.end])), own)
	}
}

// BaseURL returns the document base URL by the href of the first base element (HTML Standard 2.4.3): own if the element
// does not count, and zero if it is not on the web, so that relative references have no known target.
func BaseURL(href string, own canon.URL) canon.URL {
	u, err := own.Resolve(href)
	switch scheme, _, _ := strings.Cut(href, ":"); {
	case err == nil:
		return u
	case canon.ReasonOf(err) != canon.Scheme || strings.EqualFold(scheme, "data") ||
		strings.EqualFold(scheme, "javascript"):
		return own // 4.2.3: the element does not count
	}
	return canon.URL{}
}

// mentionsBase reports whether s has "<base", so that most pages are read only once.
func mentionsBase(s string) bool {
	const word = "<base"
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 || len(s)-i < len(word) {
			return false
		}
		if strings.EqualFold(s[i:i+len(word)], word) {
			return true
		}
		s = s[i+1:]
	}
}

func (h *htmlDoc) tag(t *tag) {
	if h.o.anchors != nil && h.depth == 0 {
		h.o.anchors(h, t)
	}
	always, ifLocal := h.removable(t)
	h.held = len(always)+len(ifLocal) > 0
	local := false
	for i := range t.found {
		a := &t.found[i]
		u, ok := h.use(t, a)
		if !ok || u.role == Base && h.o.RemoveBase {
			continue
		}
		r := Ref{Element: elementName(t), Attr: a.key, Role: u.role, Charset: h.charset, Nested: h.depth > 0}
		if t.name == "link" || t.svg && t.name == "a" {
			r.Rel = h.value(t, "rel")
		}
		if h.attribute(a, u.form, r) {
			r.Raw, r.Base = h.value(t, a.key), h.base
			local = true
		}
	}
	if h.held {
		h.release(t, always, ifLocal, local)
	}
	if t.name == "script" && h.o.Script != nil && !t.foreign && t.body > t.end && !h.base.IsZero() {
		h.o.Script(h.s[t.end:t.body], h.value(t, "type"), h.base)
	}
	if t.name == "script" && !t.foreign && t.body > t.end && strings.EqualFold(Strip(h.value(t, "type")), "module") {
		h.setPlace(t.end, true)
		h.imports(h.s[t.end:t.body], Ref{Element: "script"}, h.shifted(t.end))
	}
	switch {
	case t.name == "noframes" && !t.foreign && !h.noframes:
		h.noframes = true
		h.tags(scanner{s: h.s[:t.body], at: t.end})
		h.noframes = false
	case t.name != "style" || t.body == t.end || h.value(t, "type") != "" && !strings.EqualFold(h.value(t, "type"), "text/css"):
	case t.svg, h.xml:
		h.setPlace(t.end, false)
		h.foreignStyle(t)
	case !t.foreign:
		h.setPlace(t.end, true)
		h.styles(h.s[t.end:t.body], Ref{Element: "style", Role: Embed}, h.shifted(t.end))
	}
}

func (h *htmlDoc) shifted(start int) sink {
	return func(e edit) { h.to(edit{e.start + start, e.end + start, e.text}) }
}

// foreignStyle rewrites the style sheet of an SVG element: text with character references, or CDATA without.
func (h *htmlDoc) foreignStyle(t *tag) {
	raw := h.s[t.end:t.body]
	if strings.Contains(raw, "<![CDATA[") {
		h.styles(raw, Ref{Element: "style", Role: Embed}, h.shifted(t.end))
		return
	}
	m := mapper{raw: raw}
	h.styles(decode(raw), Ref{Element: "style", Role: Embed}, func(e edit) {
		start := t.end + m.place(e.start, false)
		h.to(edit{start, t.end + m.place(e.end, true), html.EscapeString(e.text)})
	})
}

func (h *htmlDoc) use(t *tag, a *attribute) (use, bool) {
	u, ok := lookup(t, a.key)
	switch {
	case !ok:
		return u, false
	case t.foreign:
		// SVG 2: href overrides the obsolete xlink:href.
		return u, a.key != "xlink:href" || t.attribute("href") == nil
	case t.name == "link" && a.key == "href":
		u.role = LinkRole(h.value(t, "rel"))
	case t.name == "link" && a.key == "imagesrcset":
		u.role = LinkRole(h.value(t, "rel"))
		return u, u.role != Service
	case t.name == "form" && a.key == "action" && !strings.EqualFold(h.value(t, "method"), "post"):
		u.role = Query // HTML Standard 4.10.18.6: GET is the default, and dialog sends nothing
	case t.name == "input" && a.key == "src":
		return u, strings.EqualFold(h.value(t, "type"), "image")
	case t.name == "meta" && a.key == "content":
		return h.metaUse(t)
	}
	return u, true
}

func (h *htmlDoc) metaUse(t *tag) (use, bool) {
	if strings.EqualFold(h.value(t, "http-equiv"), "refresh") {
		return use{Refresh, plainURL}, true
	}
	preview := h.o.Previews &&
		(IsPreview(h.value(t, "property")) || IsPreview(h.value(t, "name")) || IsPreview(h.value(t, "itemprop")))
	return use{Preview, plainURL}, preview
}

// value returns the value of a relevant attribute, or "".
func (h *htmlDoc) value(t *tag, key string) string {
	a := t.attribute(key)
	if a == nil {
		return ""
	}
	return decode(h.s[a.start:a.end])
}

// elementName returns the name of an element in package extract.
func elementName(t *tag) string {
	switch {
	case t.name == "feimage" && t.svg:
		return "feImage"
	case t.name == "image" && !t.svg:
		return "img"
	}
	return t.name
}

// attribute visits the references in an attribute and reports whether one became local.
func (h *htmlDoc) attribute(a *attribute, f form, r Ref) (local bool) {
	h.setPlace(a.start, false)
	text := decode(h.s[a.start:a.end])
	inParts := f == styles || f == sourceSet || f == page || f == single && strings.Contains(strings.ToLower(text), "url(")
	if inParts || r.Role == Refresh {
		return h.parts(a, f, r, text)
	}
	r.Raw = text
	new, ok := h.replace(r)
	if ok {
		h.emit(h.whole(a, new))
	}
	return ok && isLocal(new)
}

func (h *htmlDoc) parts(a *attribute, f form, r Ref, text string) (local bool) {
	part := part{h: h, a: a, m: mapper{raw: h.s[a.start:a.end]}, at: a.start}
	switch {
	case r.Role == Refresh:
		h.refresh(text, r, part.edit)
	case f == sourceSet:
		Candidates(text, func(start, end int) {
			r.Raw = text[start:end]
			if new, ok := h.replace(r); ok {
				local = local || isLocal(new)
				part.edit(edit{start, end, inCandidate(new)})
			}
		})
	case f == page:
		// The base of the inner page is that of the outer one, until it names its own.
		if inner := (htmlDoc{doc: h.doc, s: text, depth: h.depth + 1, to: part.edit}); h.depth < maxPages {
			inner.run()
		} else {
			h.removed(Removal{r.Element, r.Attr, excerpt(text)})
		}
	case strings.IndexByte(text, '(') >= 0:
		h.styles(text, r, part.edit)
	}
	if bare := a.outer == a.start; bare && part.started {
		part.escapeQuotes(a.end)
		h.emit(edit{a.end, a.end, `"`})
	}
	return local
}

func (h *htmlDoc) refresh(text string, r Ref, to sink) {
	start, end, named, ok := RefreshURL(text)
	if !ok {
		return
	}
	r.Raw = text[start:end]
	if new, ok := h.replace(r); ok {
		to(edit{start, end, inRefresh(new, named)})
	}
}

// maxHeld bounds the edits held back for a tag with integrity. Later references stay, and Options.Removed reports them as
// unread.
const maxHeld = 1 << 14

// emit makes an edit, or holds it back.
func (h *htmlDoc) emit(e edit) {
	switch {
	case !h.held:
		h.to(e)
	case len(h.edits) < maxHeld:
		h.edits = append(h.edits, e)
	case len(h.edits) == maxHeld:
		h.removed(Removal{Value: excerpt(h.s[e.start:e.end])})
	}
}

func (h *htmlDoc) whole(a *attribute, new string) edit {
	new = html.EscapeString(new)
	if h.depth == 0 && a.start == a.outer+1 && h.s[a.outer] == '"' && a.after == a.end+1 {
		return edit{a.start, a.end, new} // keeps the quotes
	}
	text := `"` + new + `"`
	if !a.assigned {
		text = "=" + text
	}
	return edit{a.outer, a.after, text}
}

// part replaces parts of a value, and quotes an unquoted one.
type part struct {
	h       *htmlDoc
	a       *attribute
	m       mapper
	at      int // after the last edit
	started bool
}

func (p *part) edit(e edit) {
	start := p.a.start + p.m.place(e.start, false)
	end := p.a.start + p.m.place(e.end, true)
	if bare := p.a.outer == p.a.start; bare {
		if !p.started {
			p.h.emit(edit{p.a.start, p.a.start, `"`})
		}
		p.escapeQuotes(start)
	}
	p.started = true
	p.h.emit(edit{start, end, html.EscapeString(e.text)})
	p.at = end
}

func (p *part) escapeQuotes(end int) {
	for i := p.at; i < end; i++ {
		if p.h.s[i] == '"' {
			p.h.emit(edit{i, i + 1, "&quot;"})
		}
	}
}

// removable returns the attributes of an element to remove: always, and if its reference became local.
func (h *htmlDoc) removable(t *tag) (always, ifLocal []string) {
	if h.o.RemovePolicy {
		for _, key := range []string{"ping", "attributionsrc"} {
			if t.attribute(key) != nil {
				always = append(always, key)
			}
		}
	}
	switch {
	case t.foreign:
	case t.name == "base" && h.o.RemoveBase:
		always = []string{"href"}
	case t.name == "meta" && h.o.RemovePolicy &&
		strings.EqualFold(Strip(h.value(t, "http-equiv")), "content-security-policy") && blocksFiles(h.value(t, "content")):
		always = []string{"http-equiv", "content"}
	}
	for _, key := range []string{"crossorigin", "integrity"} {
		if t.attribute(key) != nil {
			ifLocal = append(ifLocal, key)
		}
	}
	return always, ifLocal
}

// release makes the held edits and removes attributes: all of a name, since without the first the second would count.
func (h *htmlDoc) release(t *tag, always, ifLocal []string, local bool) {
	keys := always
	if local {
		keys = append(keys, ifLocal...)
	}
	held := h.edits
	for i := t.attrs; len(keys) > 0; {
		a, ok := nextAttribute(h.s, i)
		if !ok {
			break
		}
		i = a.after
		key := a.keyIn(h.s)
		if !slices.Contains(keys, key) {
			continue
		}
		for len(held) > 0 && held[0].start < a.name {
			h.to(held[0])
			held = held[1:]
		}
		h.removed(Removal{elementName(t), key, excerpt(h.s[a.start:a.end])})
		h.to(edit{a.name, a.after, instead(h.s[a.after:])})
	}
	for _, e := range held {
		h.to(e)
	}
	h.edits = h.edits[:0]
}

// instead returns the replacement of a removed attribute: "" unless "=" follows, which would become the sign of the
// attribute before.
func instead(rest string) string {
	for i := range len(rest) {
		switch c := rest[i]; {
		case c == '=':
			return `_=""`
		case c != '/' && !IsSpace(c):
			return ""
		}
	}
	return ""
}

// form is the syntax of references in an attribute.
type form uint8

const (
	plainURL  form = iota // one URL
	sourceSet             // image candidates, HTML Standard 4.8.4.2.2
	styles                // CSS declarations
	page                  // an HTML page: srcdoc
	single                // one URL, or declarations with url(…): data-bg
)

// use is the content of an attribute.
type use struct {
	role Role
	form form
}

// places lists the references by element and attribute. Those of form, input, link and meta depend on other attributes,
// see htmlDoc.use. SVG elements have the prefix "svg:", MathML "math:"; "*" is any element, "amp-*" any of AMP.
var places = map[string]map[string]use{
	"a":          {"href": {Link, plainURL}},
	"applet":     {"archive": {Embed, plainURL}},
	"area":       {"href": {Link, plainURL}},
	"audio":      {"src": {Embed, plainURL}},
	"base":       {"href": {Base, plainURL}},
	"bgsound":    {"src": {Embed, plainURL}},
	"blockquote": {"cite": {Cite, plainURL}},
	"body":       {"background": {Embed, plainURL}},
	"button":     {"formaction": {Service, plainURL}},
	"del":        {"cite": {Cite, plainURL}},
	"embed":      {"src": {Embed, plainURL}},
	"form":       {"action": {Service, plainURL}},
	"frame":      {"src": {Frame, plainURL}, "longdesc": {Cite, plainURL}},
	"iframe":     {"src": {Frame, plainURL}, "srcdoc": {Frame, page}, "longdesc": {Cite, plainURL}},
	"image":      {"src": {Embed, plainURL}, "srcset": {Embed, sourceSet}}, // becomes img, HTML Standard 13.2.6.4.7
	"img": {"src": {Embed, plainURL}, "srcset": {Embed, sourceSet}, "lowsrc": {Embed, plainURL},
		"dynsrc": {Embed, plainURL}, "longdesc": {Cite, plainURL}},
	"input":  {"src": {Embed, plainURL}, "formaction": {Service, plainURL}},
	"ins":    {"cite": {Cite, plainURL}},
	"link":   {"href": {Link, plainURL}, "imagesrcset": {Embed, sourceSet}},
	"meta":   {"content": {Refresh, plainURL}},
	"object": {"data": {Embed, plainURL}},
	"portal": {"src": {Frame, plainURL}},
	"q":      {"cite": {Cite, plainURL}},
	"script": {"src": {Script, plainURL}},
	"source": {"src": {Embed, plainURL}, "srcset": {Embed, sourceSet}},
	"table":  {"background": {Embed, plainURL}},
	"tbody":  {"background": {Embed, plainURL}},
	"td":     {"background": {Embed, plainURL}},
	"tfoot":  {"background": {Embed, plainURL}},
	"th":     {"background": {Embed, plainURL}},
	"thead":  {"background": {Embed, plainURL}},
	"tr":     {"background": {Embed, plainURL}},
	"track":  {"src": {Embed, plainURL}},
	"video":  {"src": {Embed, plainURL}, "poster": {Embed, plainURL}},

	"amp-*":      {"src": {Embed, plainURL}, "srcset": {Embed, sourceSet}, "poster": {Embed, plainURL}},
	"amp-iframe": {"src": {Frame, plainURL}},
	"amp-story": {"poster-portrait-src": {Embed, plainURL}, "poster-landscape-src": {Embed, plainURL},
		"poster-square-src": {Embed, plainURL}, "publisher-logo-src": {Embed, plainURL}},

	"*":          {"style": {Embed, styles}},
	"math:*":     {"href": {Link, plainURL}, "xlink:href": {Link, plainURL}},
	"svg:a":      {"href": {Link, plainURL}},
	"svg:script": {"href": {Script, plainURL}},
	"svg:*": {
		"href": {Embed, plainURL}, "xlink:href": {Embed, plainURL},
		"clip-path": {Embed, styles}, "cursor": {Embed, styles}, "fill": {Embed, styles}, "filter": {Embed, styles},
		"marker": {Embed, styles}, "marker-end": {Embed, styles}, "marker-mid": {Embed, styles},
		"marker-start": {Embed, styles},
		"mask":         {Embed, styles}, "stroke": {Embed, styles},
	},
}

// decisive are attributes that affect others.
const decisive = " rel type http-equiv name property itemprop as id integrity crossorigin shadowrootmode encoding color face size ping attributionsrc method "

// attributes are those that matter.
var attributes = func() map[string]bool {
	all := map[string]bool{}
	for _, attrs := range places {
		for name := range attrs {
			all[name] = true
		}
	}
	for name := range lazyAttrs {
		all[name] = true
	}
	for name := range strings.FieldsSeq(decisive) {
		all[name] = true
	}
	return all
}()

func lookup(t *tag, attr string) (use, bool) {
	switch {
	case t.svg:
		if u, ok := places["svg:"+t.name][strings.TrimPrefix(attr, "xlink:")]; ok {
			return u, true
		}
		if u, ok := places["svg:*"][attr]; ok {
			return u, true
		}
	case t.foreign:
		if u, ok := places["math:*"][attr]; ok {
			return u, true
		}
	default:
		if u, ok := places[t.name][attr]; ok {
			return u, true
		}
		if u, ok := places["amp-*"][attr]; ok && strings.HasPrefix(t.name, "amp-") {
			return u, true
		}
	}
	if u, ok := places["*"][attr]; ok {
		return u, true
	}
	switch LazyAttr(attr) {
	case LazyURL:
		return use{Lazy, plainURL}, true
	case LazySet:
		return use{Lazy, sourceSet}, true
	case LazyStyle:
		return use{Lazy, single}, true
	}
	return use{}, false
}

// IsPresentation reports whether an SVG attribute is a style property that may name a document (SVG 2, 6.6).
func IsPresentation(attr string) bool { return places["svg:*"][attr].form == styles }

// Requisites returns the attributes of an HTML element that name requisites, true for image candidates as in srcset. It
// omits those of input and link, and those of any element.
func Requisites(element string) map[string]bool {
	if strings.HasPrefix(element, "amp-") {
		element = "amp-*"
	}
	return requisites[element]
}

var requisites = func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for element, attrs := range places {
		// In a tree, image is img or nothing.
		if element == "input" || element == "link" || element == "image" || strings.Contains(element, ":") {
			continue
		}
		for name, u := range attrs {
			if !u.role.Requisite() || u.form > sourceSet {
				continue
			}
			if all[element] == nil {
				all[element] = map[string]bool{}
			}
			all[element][name] = u.form == sourceSet
		}
	}
	return all
}()

// LinkRole returns the role of a link element by its rel: a requisite if any token makes it one, else a Link if one does,
// also an unknown one, since sites link contents and chapters so.
func LinkRole(rel string) Role {
	role := Service
	for token := range strings.FieldsFuncSeq(rel, func(r rune) bool { return strings.ContainsRune(Space, r) }) {
		switch strings.ToLower(token) {
		case "stylesheet":
			return Style
		case "manifest":
			return ManifestLink
		case "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image",
			"mask-icon", "fluid-icon", "preload", "modulepreload":
			role = Embed
		case "dns-prefetch", "preconnect", "expect", // hosts and moments, no documents
			"pingback", "webmention", "edituri", "wlwmanifest", "micropub", "hub", "https://api.w.org/", // services
			"nofollow", "ugc", "sponsored", "external", "noopener", "noreferrer", "opener": // words about a link
		default:
			if role == Service {
				role = Link
			}
		}
	}
	return role
}

// blocksFiles reports whether a Content-Security-Policy (CSP 3) may keep a page from loading local files: by a directive
// on sources, since 'self' is not a file, or one that turns http into https.
func blocksFiles(policy string) bool {
	for directive := range strings.FieldsFuncSeq(policy, func(r rune) bool { return r == ';' || r == ',' }) {
		name, _, _ := strings.Cut(strings.TrimLeft(directive, Space), " ")
		name = strings.ToLower(Strip(name))
		switch {
		case strings.HasSuffix(name, "-src"), strings.HasSuffix(name, "-src-elem"), strings.HasSuffix(name, "-src-attr"),
			name == "upgrade-insecure-requests", name == "block-all-mixed-content", name == "base-uri",
			name == "require-sri-for":
			return true
		}
	}
	return false
}

// Role is the purpose of a reference.
type Role uint8

// The roles. Role.Requisite reports which of them a browser fetches without a click.
const (
	Link    Role = iota // for readers to follow: a, area, link rel=next
	Refresh             // meta refresh
	Cite                // the source of a quotation, a long description: not displayed
	Service             // no document: target of a form, pingback, preconnect
	Query               // target of a form with the method GET: a page whose script may read the query
	Base                // the base of other references
	Embed               // a part of the page: image, font, sound, object
	Script
	Style        // a style sheet, linked or imported
	Frame        // a page within the page
	ManifestLink // a web manifest
	Lazy         // an attribute that a script turns into a requisite: data-src
	Preview      // an image for others to show: og:image
)

// Requisite reports whether a browser fetches the reference to show the page. It does not fetch Lazy ones, without which
// a copy is rarely complete, and Previews.
func (r Role) Requisite() bool { return r >= Embed && r <= ManifestLink }

// Ref is a reference in a document. Its strings may share the document's memory: clone those that you keep.
type Ref struct {
	Raw     string // decoded to UTF-8 without entities and escapes
	Element string // "img", "feImage"; "" in a style sheet, the path of the member in a manifest
	Attr    string // "src", "xlink:href"; in a style sheet "url", "import", "image-set"
	Rel     string // rel of a link element, and of an a element of SVG
	Role    Role
	Base    canon.URL // the base of Raw; zero if the page's is not on the web
	Nested  bool      // in a page within an attribute
	Charset string    // of its query, as in the Encoding Standard; "" for UTF-8 (see EncodeQuery)
}

// URL resolves the reference; an error is of package canon.
func (r Ref) URL() (canon.URL, error) { return r.Base.Resolve(EncodeQuery(Strip(r.Raw), r.Charset)) }

// Fragment returns the fragment with its "#", or "". A canonical URL has none.
func (r Ref) Fragment() string {
	if i := strings.IndexByte(r.Raw, '#'); i >= 0 {
		return Strip(r.Raw[i:])
	}
	return ""
}
