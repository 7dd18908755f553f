// Package sitemap reads sitemaps, sitemap indexes, feeds (RSS, Atom) and lists of URLs.
//
// Read goes through a file once and passes on each entry when it is complete. It keeps only one entry and one XML token in
// memory, whatever the size of the file.
//
//   - gzip is recognized by its first two bytes, once.
//   - The encoding is that of the byte order mark, else of the Content-Type field, else of the XML declaration (RFC 7303
//     3.2), else UTF-8. An unknown one counts as missing.
//   - Invalid UTF-8, and characters that XML 1.0 2.2 does not allow, are replaced; a URL with one of them is refused.
//   - The first character distinguishes XML from a list of URLs, the root element the kind of XML.
//
// Names are compared without case, and namespaces are ignored: many files have none, or a wrong one. An element counts by
// its place and if it has the prefix of its entry: "loc" counts in "url", "image:loc" does not. An element that is not
// closed ends with the one around it, an entry where the next begins. An "&" that begins no entity is literal. Entities of
// XML and HTML are characters; others are not expanded, and an address with one is refused. White space around an
// address is removed.
//
//	urlset        url/loc
//	sitemapindex  sitemap/loc, with Entry.Map
//	rss, RDF      item/link, else item/guid if it is a permalink (the default of isPermaLink)
//	feed          entry/link, the first whose rel is "alternate" or missing
//	text          each line that is not blank: an absolute URL
//
// In XML an address may be relative to the URL of the file and, in Atom, to xml:base. Dates and frequencies of an Entry are
// the site's claims. Priorities and extensions are skipped.
//
// Every entry is passed on or counted:
//
//	entries = Report.Entries + the sum of Report.Refused
//
// Report.Finding is where and why the reading stopped early. A file that is damaged, too large or not a sitemap is not an
// error: an error is one of the body or of the function that takes the entries.
package sitemap
