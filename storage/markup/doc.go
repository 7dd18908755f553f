// Package markup finds and replaces the references in pages, style sheets, SVG and web manifests. Every byte that is
// not part of a replaced reference stays as it is. It does no I/O and knows nothing of what the references name: a
// Visit decides.
//
// # One document
//
//  1. The charset is decided: for pages as package charset decides (byte order mark, Content-Type, meta, guess), so
//     that a reference has the same canonical key in both; for style sheets by CSS Syntax 3.2, for XML by RFC 7303.
//     UTF-8 is not decoded. Another charset is, once to be read, and once more to find the bytes of each place.
//  2. Tags and attributes are found as the tokenizer of the HTML Standard (13.2.5) finds them, without a tree: only
//     where foreign content (SVG, MathML) and templates begin and end is followed. Style sheets are the tokens of
//     github.com/tdewolff/parse, but for url(…), which is read here by CSS Syntax 4.3.6: the library takes url("x" y())
//     for a bad one and does not know the name when it is written with an escape.
//     Pages served as XML (application/xhtml+xml) are read as XML, as SVG is: see XHTML.
//  3. Each reference is asked about once, in order, and what replaces it is written at once, with what the place
//     requires: double quotes and entities, escapes of CSS or JSON, or both in a style attribute.
//
// # Where references stand
//
// The table is places, in html.go. Beyond what package extract lists (the places of links and requisites) these are:
// style attributes and elements, presentation attributes and all href of SVG, srcdoc (the page in it is rewritten),
// lazy loading (data-src, data-srcset, data-original, data-bg …), forms, citations, pictures for others
// (Options.Previews), and in style sheets url(), src(), @import and image-set(). In web manifests see members.
//
// Not asked about are references into the document itself ("#top", url(#gradient)), unless a base makes them point
// elsewhere; data:, javascript:, about: and blob:; names that look like references (@namespace, xmlns); what is in
// comments, also conditional ones, in scripts and in templates that are no shadow roots.
//
// # What else changes
//
// Only with what Options asks for, and where a requisite became local: then crossorigin and integrity go, since a page
// that is opened as a file can fulfil neither. Elements are never removed, attributes are, so that no text before a tag
// and no text behind it can become another tag. Each removal is told.
//
// # Properties, held by tests
//
//	a Visit that replaces nothing                       leaves every byte
//	what is found in what was written                   is exactly the replacements
//	replace, then encode                                equals encode, then replace
//	pages whose elements are closed in order            give the references that package extract gives
//	all others                                          give those and perhaps more: a tree drops elements
//
// # What it costs
//
// Time is linear in the document's bytes. Finding takes no more than four times their memory in all, whatever they
// are; attributes that do not matter are not kept. Pages in srcdoc are read three deep. A tag with integrity or
// crossorigin has at most 16,384 references rewritten. The output is no larger than
// Options.Most. Options.Removed is told of parts that are not read.
//
// # Where the tokenizer of golang.org/x/net/html differs
//
// It leaves the escaped state of a script at any "<" before no letter (13.2.5.20 stays in it). This package follows the
// Standard.
package markup
