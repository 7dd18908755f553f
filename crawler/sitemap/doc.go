// Package sitemap reads sitemaps, sitemap indexes, feeds (RSS, Atom) and lists of URLs.
//
// # One pass
//
// Read goes through a file once, from its first byte to its last, and gives out each entry when it is complete. It
// holds no more meanwhile than one entry and one token of XML, whatever the size of the file.
//
//		bytes ─ gzip, if they begin so ─ the first MaxSize ─ encoding ─ characters ─┬─ XML: urlset, index, RSS, Atom
//		                                                                             └─ lines of text
//
//	  - gzip is told by its first two bytes, whatever name and header fields say, once.
//	  - The encoding is that of the byte order mark, else of the Content-Type field, else of the XML declaration (RFC 7303
//	    3.2), else UTF-8. One that there is not counts as not named.
//	  - Bytes that are no UTF-8, and characters that XML 1.0 2.2 does not allow, are replaced; a URL that has one of them
//	    is refused, for which one was meant is not known.
//	  - The first character tells XML from a list of URLs, the root element which kind of XML it is.
//
// # XML as it is found
//
// Names are compared without case, and namespaces are not looked at: many files have none, or another. Where an element
// stands decides, and that its prefix is that of the entry it stands in: "loc" counts in "url" and in "sitemap", and
// "image:loc" is no page. An element that is not closed ends with the one around it, an entry where the next begins. An
// "&" that begins no entity stands for itself. Entities of XML and HTML are characters; others are not expanded, so
// that none can grow, an address that has one is refused, and nothing that a file refers to is fetched. White space of
// Unicode around an address is no part of it.
//
// # What is given out
//
//	urlset        url/loc
//	sitemapindex  sitemap/loc, with Entry.Map
//	rss, RDF      item/link, else item/guid if it is a permalink (which it is unless isPermaLink says otherwise)
//	feed          entry/link, the first whose rel is "alternate" or missing
//	text          each line that is not blank: an absolute URL
//
// In XML an address may be relative; it is resolved against the URL of the file and, in Atom, xml:base. An Entry
// has the readable dates and frequencies of the file. They are claims of the site about itself, and nothing here relies
// on them. Priorities and the alternates, images, videos and news of extensions are passed over.
//
// # What is counted
//
// Every entry is given out, or counted in Report.Refused by reason, or is over the MaxEntries that the protocol allows
// and counted there likewise:
//
//	entries = Report.Entries + the sum of Report.Refused
//
// The Report's Finding tells what was not read and cannot be counted: where the reading stopped, and why. The
// entries before it were given out. A file that is damaged, too large or no sitemap at all is no error: an error means
// that the body could not be read, or is that of the function that takes the entries.
//
// # What the package never does
//
// It does no I/O but reading the body it is given, and does not decide whether a URL is wanted, or whether the file may
// speak for its host.
package sitemap
