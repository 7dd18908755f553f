// Package markup finds and replaces the references in pages, style sheets, SVG and web manifests. Every byte outside a
// replaced reference stays as it is. It does no I/O; a Visit decides on each reference.
//
// It determines the charset of pages like package charset, so that references have the same canonical keys, of style sheets
// by CSS Syntax 3.2, and of XML by RFC 7303. Charsets other than UTF-8 are decoded twice, the second time to find the bytes
// of each place. Tags and attributes are those of the HTML tokenizer (13.2.5), without a tree: only the bounds of
// foreign content (SVG, MathML) and templates are tracked. Unlike golang.org/x/net/html it stays in the escaped state
// of a script at a "<" (13.2.5.20). Style sheets are tokens of github.com/tdewolff/parse, except url(…) (CSS Syntax
// 4.3.6): the library rejects url("x" y()) and does not recognize the name with escapes.
//
// The table places in html.go lists where references are; members is that of web manifests. Beyond package extract these
// are style attributes and elements, presentation attributes and all href of SVG, srcdoc (the page in it is rewritten),
// lazy loading, forms, citations, previews (Options.Previews), and in style sheets url(), src(), @import and image-set().
// Not visited are references into the document itself unless its base is another; data:, javascript:, about: and blob:;
// names that look like references (@namespace, xmlns); comments, scripts, and templates other than shadow roots.
//
// Options ask for further changes. A tag with a requisite that became local loses crossorigin and integrity, which a page
// opened from disk cannot fulfil. Only attributes are removed, never elements, so that no text around becomes a tag.
//
// Tests hold these properties:
//
//	a Visit that replaces nothing                leaves every byte
//	a search of the output                       finds exactly the replacements
//	replace, then encode                         equals encode, then replace
//	pages whose elements are closed in order     give the references of package extract
//	all others                                   give those and perhaps more: a tree drops elements
//
// Time is linear in the document's bytes, and a search takes at most four times their memory. Pages in srcdoc are read
// three deep. A tag with integrity or crossorigin has at most 16,384 references rewritten. Options.Most bounds the output;
// Options.Removed reports unread parts.
package markup
