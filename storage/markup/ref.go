package markup

import (
	"strings"

	"curtsy/frontier/canon"
)

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
func (r Ref) URL() (canon.URL, error) { return r.Base.Resolve(EncodeQuery(strip(r.Raw), r.Charset)) }

// Fragment returns the reference's fragment with its "#", or "". A canonical URL has none.
func (r Ref) Fragment() string {
	if i := strings.IndexByte(r.Raw, '#'); i >= 0 {
		return strip(r.Raw[i:])
	}
	return ""
}
