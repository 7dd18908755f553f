// Package report summarises a crawl or one of its hosts, as HTML and JSON.
//
// It reads only the ledger, which may be hostile, and the warcinfo records of the archive; Options have the rest (settings,
// an audit). It does not judge the crawl, which is for the audit.
//
// Memory does not depend on the ledger's length. The busiest MaxHosts hosts are listed, the others summed; with more hosts
// a first pass counts the lines of each (16 bytes a host, at most maxCounted). Every list of words from the web (rules,
// reasons, media types, …) has a bounded number of distinct ones, sums the rest, and counts the omissions.
//
// A counting line counts for all its URLs. The least gap is exact. Medians are the lower edge of bins of three decimal
// digits, so that no delay is overstated. Whether a gap is too short is decided on the microseconds of the ledger.
//
// A page is one file without scripts, images, fonts and links that a browser follows by itself; drawings are inline SVG.
// Strings of the crawl pass clean, which shortens them and escapes unprintable characters, and html/template. URLs of the
// crawl are text, never links. A content security policy forbids everything else.
package report
