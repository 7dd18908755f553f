// Package extract reads an HTML page: links in document order, title and robots directives. It also reads the references
// of style sheets, SVG documents, web manifests, scripts and feeds. No other package uses goquery.
//
// The encoding is that of the byte order mark, Content-Type field, meta element or guess, in that order (HTML Standard
// 13.2.3.2). UTF-8 is not decoded: invalid bytes reach package canon as the site wrote them. Scripting is off, so that
// the contents of noscript are elements.
//
// # Bounds
//
// Building the tree costs three quarters of the time of a usual page, and a hostile page can need forty times its size
// in memory. So package prune removes parts that can lead nowhere, at most MaxParse bytes and MaxTags tags are read,
// elements that only format text do not become elements (see tagLimit), and large pages, of more than 512 KiB, are read
// at once only up to MaxParse bytes together; that wait can be cancelled. Large pages are not pruned.
//
// # Links and requisites
//
// A requisite (Link.Embed) is a resource that a browser fetches to show the page; any other link is for the reader to
// follow.
//
//	a, area                   href: a link, with rel
//	link                      href, imagesrcset: by rel, see below
//	frame, iframe             src: a requisite, for the page is not complete without it
//	iframe                    srcdoc: a page within the page, three deep
//	img, source               src, srcset: requisites (srcset by HTML Standard 4.8.4.2.2)
//	video                     src, poster
//	audio, bgsound, embed, track   src
//	script                    src; the imports of a module in it
//	object                    data
//	input type=image          src
//	img                       lowsrc, dynsrc
//	applet                    archive
//	body, table, tr, td, th, thead, tbody, tfoot   background
//	amp-img and all of AMP    src, srcset, poster
//	svg: a                    href, xlink:href: a link; of any other element a requisite
//	math: any                 href, xlink:href: a link
//	noframes                  its text is read as a page, whose links are those of the page around
//	style                     the references of the style sheet
//	any                       style; in svg also fill, filter, mask and the like: the references of the declarations
//	any                       data-src, data-srcset and other attributes for lazy loading: see markup.LazyAttr
//	meta                      og:image and the like are requisites with Input.Previews, else ignored
//	meta http-equiv=refresh   a link (HTML Standard 4.2.5.3, shared declarative refresh steps); so is the Refresh field
//
// A link element is a requisite if its rel has stylesheet, an icon, manifest, preload or modulepreload. It is ignored
// without a rel or if its rel names only services (dns-prefetch, preconnect, pingback …), else a link.
//
// The contents of template are inert and skipped, except in declarative shadow roots. Forms, ping and the sources of
// quotations are not read. References to a place in the page itself ("", "#top") are not listed.
//
// # XHTML
//
// A page served as application/xhtml+xml is parsed as XML, as in browsers, with the encoding of RFC 7303. Any other page
// that calls itself XHTML is HTML. The tree is that of the page in HTML, so that one walk reads both. Elements without
// a namespace and names in capital letters count as HTML. A page that is not well-formed is read as XML, as far as a
// lenient decoder comes, and also as HTML; the links of both are listed, and Unparsed is UnparsedXML.
//
// # Counts
//
// Every mention of a URL is counted:
//
//	mentions = len(Links) + Repeats + Dropped + the sum of Refused
//
// Two mentions are one link if they have the same canonical key and kind. It has the place of the first, and
// rel=nofollow only if all have it. Input.Mention also gets the mentions that the counts leave out: references to the
// page itself, links of rels that name no document, and the scope of a manifest.
//
// Directives of meta elements and X-Robots-Tag fields are united; see Directives. The crawler obeys them.
//
// No content of a page is an error: a page that the parser refuses has no links, but a reason in Unparsed. An error
// means that the body could not be read or that ctx is done.
package extract
