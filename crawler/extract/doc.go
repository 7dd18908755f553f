// Package extract reads an HTML page: links in document order, title and robots directives. It is the only home of
// goquery. It also reads what style sheets, SVG documents and web manifests name.
//
// # One page
//
//  1. The body is read through a window of MaxParse bytes. The rest is not looked at, and the page says so.
//  2. The encoding is decided: byte order mark, Content-Type field, meta element, guess; in that order (HTML Standard
//     13.2.3.2, as golang.org/x/net/html/charset has it). An encoding that does not exist counts as not named.
//     UTF-8 is not decoded: bytes that are not UTF-8 reach package canon as the site wrote them.
//  3. Parts that can lead nowhere are left out (see package prune); the tree is built of the rest, with scripting off,
//     so that the contents of noscript are elements. A tree is what costs: for a usual page three quarters of the time
//     when nothing is left out, for a hostile one forty times its size in memory and more. So no more than MaxTags tags
//     are looked at, elements that only format text are none (see tagLimit), and large pages, of more than 512 KiB,
//     are read at once only up to MaxParse bytes together; the wait for that can be cancelled. Nothing is left out of those.
//  4. One walk finds the base, another the mentions of URLs. Each distinct reference is resolved once.
//
// # What is a link, what is a requisite
//
// A requisite (Link.Embed) is what a browser fetches by itself to show the page; any other link is for the reader to
// follow.
//
//	a, area                   href: a link, with rel
//	link                      href, imagesrcset: by rel, see below
//	frame, iframe             src: a requisite, for the page is not complete without it
//	iframe                    srcdoc: a page that is read as this one is, three deep
//	img, source               src, srcset: requisites (srcset by HTML Standard 4.8.4.2.2)
//	video                     src, poster
//	audio, bgsound, embed, track   src
//	script                    src; what a module in it imports
//	object                    data
//	input type=image          src
//	img                       lowsrc, dynsrc
//	applet                    archive
//	body, table, tr, td, th, thead, tbody, tfoot   background
//	amp-img and all of AMP    src, srcset, poster
//	svg: a                    href, xlink:href: a link; of any other element a requisite
//	math: any                 href, xlink:href: a link
//	noframes                  its text is read as a page, whose links are those of the page around
//	style                     what the style sheet names, see below
//	any                       style; in svg also fill, filter, mask and the like: what the declarations name
//	any                       data-src, data-srcset and others that scripts for lazy loading read: see markup.LazyAttr
//	meta                      og:image and the like are requisites if Input.Previews asks for them, else nothing
//	meta http-equiv=refresh   a link (HTML Standard 4.2.5.3, shared declarative refresh steps); so is the Refresh field
//
// A link element is a requisite when its rel has stylesheet, an icon, manifest, preload or modulepreload; it is nothing
// when it has no rel or names but hosts to connect to and services to talk to (dns-prefetch, preconnect, pingback …);
// else it is a link, as next, prev, canonical and alternate are.
//
// Contents of template are inert and mostly full of placeholders: they are passed over, except in declarative
// shadow roots. Not read are scripts, the addresses of forms and of ping, and the sources of quotations. References to
// a place in the page itself ("", "#top") are not listed.
//
// # Pages in XML
//
// A page that is served as application/xhtml+xml is read by the rules of XML, as in browsers: "/>" ends any element,
// elements are told by namespace, and the encoding is that of RFC 7303. Any other page that calls itself XHTML is HTML.
// The tree is that of pages in HTML, so that the same walk reads it; what xml-stylesheet instructions name comes first,
// as requisites. Beyond browsers, elements without a namespace and names in capital letters are taken for those of
// HTML.
//
// An error ends such a page for a browser, which shows what stands before. A page with one is read as XML as far as a
// lenient decoder comes, which is as far as a browser or farther, and once more as HTML; the links of both are taken,
// and Unparsed is UnparsedXML. So it lacks nothing that it has as HTML, and nothing that a browser would have found.
// Entities are those of XHTML (HTML 4): a page that uses others counts as one with an error, and is read as HTML as well.
//
// # What is no page
//
// Style sheets (text/css) name requisites, SVG documents and web manifests also links: a elements, where a manifest and its
// shortcuts start. Scripts name what they import, if they are modules, and other documents in XML their style sheets.
// Package markup reads them, as it reads the style sheets in
// pages, since the mirror writes anew what is found here (docs/dev/decisions.md, 10). The bounds are those of pages: MaxParse
// bytes, MaxLinks links, MaxParse bytes of large ones at once.
//
// Feeds are read where a Follow says so, by package sitemap: element "feed", attribute "link".
//
// # What is counted
//
// Every other mention of a URL is accounted for:
//
//	mentions = len(Links) + Repeats + Dropped + the sum of Refused
//
// Two mentions are one link when they have the same canonical key and kind. It stands where the first one stood, and
// has rel=nofollow only if all have: the page does link to it without.
//
// Input.Mention is told each of them, and those that the counts leave out: references to a place in the page itself,
// links of rels that name no document, and the scope of a manifest. It gets the reference as written, the rel as
// written and the text that the link shows. Nothing else of the page changes by it; the pruner keeps the text of links,
// and white space where it leaves out a tag that parts text. A link that the parser opens anew behind a block is told
// once. A page that is read as XML and as HTML is told as HTML, and at the end what only the XML has.
//
// # What the page asks
//
// Directives of meta elements and of X-Robots-Tag fields are united, the most restrictive wins; see Directives. They
// are reported here and obeyed by the crawler.
//
// # Failures
//
// No bytes of a page are an error: a page that the parser refuses is kept with no links and says
// why in Unparsed. An error means that the body could not be read or that ctx is done.
package extract
