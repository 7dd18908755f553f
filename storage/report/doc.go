// Package report summarises a crawl or one of its hosts, as HTML and JSON.
//
// # Sources
//
// A report is made from the ledger, line by line, and from the warcinfo records of the archive; nothing else of a crawl
// is read. Options take the rest from those who know it (the settings, an audit). A ledger that somebody else hands
// over is as hostile as the web it tells of.
//
// # Memory
//
// It does not depend on the length of the ledger. The busiest MaxHosts hosts are kept one by one and the others are
// summed; when there are more, the ledger is read again: to count the lines of each (16 bytes a host, maxCounted of them at
// most), and then to gather. Every list of
// words that come from the web (rules, reasons, media types, …) keeps the first so many distinct ones and sums the rest
// under a name of its own. Entries that a list leaves out are always counted.
//
// # Figures
//
// A counting line counts for as many URLs as it stands for. The least gap is exact. Medians are taken from bins of
// three decimal digits and are the lower edge of the bin: no pause is overstated. Whether a gap is shorter than the
// pause that was due is decided line by line, on the microseconds of the ledger, not on the bins.
//
// # Pages
//
// A page is one file: no script, no image, no font, no link that a browser follows by itself; its drawings are inline
// SVG. All that comes from the crawl passes clean, which cuts it and makes visible what is not printable, and then
// html/template. URLs of the crawl are text, never links. A content security policy in the page forbids all the rest.
//
// # What the package never does
//
// It judges nothing: whether the crawl kept the rules is for the audit, which recomputes; the report repeats what the
// ledger says.
package report
