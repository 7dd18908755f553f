// Package mediatype determines the media type of a response. Every part that asks, from the extractor of links to the
// list of pages in a WACZ, asks here: what one of them took for a page, all do.
//
// A Content-Type is read as browsers read it (WHATWG MIME Sniffing 4.4, "parse a MIME type"; Fetch 2.2, "extract a MIME
// type"):
//
//   - Several fields, and several values in one, are read one after the other, cut at commas outside of quotes. The
//     last that is a media type counts, so "text/html, text/html" is text/html; "*/*" is none. A charset stays while
//     the type stays.
//   - What is no media type ("text/html charset=utf-8", "html", "text/") is passed over, as though the server had said
//     nothing. Then the first octets tell (Sniff).
//
// One thing differs: a type longer than two names may be (RFC 6838 4.2: 127 octets each) is none, so that ledger and
// index never hold much of what a stranger wrote.
//
// The package imports the standard library alone and does no I/O.
package mediatype
