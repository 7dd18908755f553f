package markup

import (
	"strings"

	"curtsy/frontier/canon"
)

// form is how references are written in an attribute.
type form uint8

const (
	plainURL  form = iota // the value is one
	sourceSet             // image candidates, HTML Standard 4.8.4.2.2
	styles                // declarations of CSS
	page                  // a page: srcdoc
	single                // a URL, or declarations that hold url(…): data-bg
)

// use is what an attribute of an element holds.
type use struct {
	role Role
	form form
}

// places says where references stand, by element and attribute. Those of form, input, link and meta depend on other
// attributes, see htmlDoc.use. Elements of SVG have "svg:" before their name, those of MathML "math:"; "*" is any
// element, "amp-*" any of AMP.
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

// decisive are attributes that say something of others.
const decisive = " rel type http-equiv name property itemprop as id integrity crossorigin shadowrootmode encoding color face size ping attributionsrc method "

var attributes = attributesOf(places)

func attributesOf(places map[string]map[string]use) map[string]bool {
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
}

// matters reports whether an attribute is looked at.
func matters(name string) bool { return attributes[name] }

// lookup finds a use in the table.
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

// IsPresentation reports whether an attribute of SVG is a property of style whose value may name a document (SVG 2, 6.6).
func IsPresentation(attr string) bool { return places["svg:*"][attr].form == styles }

// Requisites returns the attributes of an element of HTML that name requisites, without those of input and link and
// without what any element may have; true is of those that hold image candidates, as srcset does.
func Requisites(element string) map[string]bool {
	if strings.HasPrefix(element, "amp-") {
		element = "amp-*"
	}
	return requisites[element]
}

var requisites = requisitesOf(places)

func requisitesOf(places map[string]map[string]use) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for element, attrs := range places {
		switch {
		case element == "input", element == "link", strings.Contains(element, ":"):
			continue
		case element == "image": // a tree has img for it, or it is nothing
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
}

// LinkRole returns what the rel of a link element makes it: a requisite if any of its tokens does, else a Link if one does.
// An unknown token makes a Link, since sites name their contents, index and chapters so.
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

// blocksFiles reports whether a Content-Security-Policy (CSP 3) may keep a page from loading what stands beside it: by
// any directive on where to load from, for 'self' is no file, and by one that makes https of http.
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

// Role says what a reference is for.
type Role uint8

// The roles. See Role.Requisite for which of them a browser fetches by itself.
const (
	Link         Role = iota // for the reader to follow: a, area, link rel=next
	Refresh                  // the page asks to be left for it: meta refresh
	Cite                     // the source of a quotation, a long description: nothing shows it
	Service                  // something to talk to, no document: where a form is sent, pingback, preconnect
	Query                    // where a form is sent that has the method GET: a page whose script may read the query
	Base                     // what other references are relative to; it names nothing itself
	Embed                    // a part of the page: image, font, sound, object
	Script                   // a script
	Style                    // a style sheet, linked or imported
	Frame                    // a page within the page
	ManifestLink             // a web manifest
	Lazy                     // an attribute that some script makes a requisite later: data-src
	Preview                  // a picture that a page names for others to show: og:image
)

// Requisite reports whether a browser fetches it by itself to show the page. It does not fetch what is Lazy or a
// Preview, though a copy without the former is rarely complete.
func (r Role) Requisite() bool { return r >= Embed && r <= ManifestLink }

// Ref is a reference as it stands in a document. Its texts may share memory with the whole of it: clone what is kept.
type Ref struct {
	Raw     string    // as written, but decoded: UTF-8 without entities and escapes
	Element string    // "img", "feImage"; "" in a style sheet, the path of the member in a manifest
	Attr    string    // "src", "xlink:href"; in a style sheet "url", "import", "image-set"
	Rel     string    // rel of a link element, and of an a element of SVG
	Role    Role      //
	Base    canon.URL // what Raw is relative to; zero if the page names a base that is not on the web
	Nested  bool      // it stands in a page within an attribute
	Charset string    // in which its query is sent, as in the Encoding Standard; "" for UTF-8 (see EncodeQuery)
}

// URL returns what the reference means; an error is of canon.
func (r Ref) URL() (canon.URL, error) { return r.Base.Resolve(EncodeQuery(Strip(r.Raw), r.Charset)) }

// Fragment returns the reference's fragment with its "#", or "". A canonical URL has none.
func (r Ref) Fragment() string {
	if i := strings.IndexByte(r.Raw, '#'); i >= 0 {
		return Strip(r.Raw[i:])
	}
	return ""
}
