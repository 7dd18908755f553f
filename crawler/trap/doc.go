// Package trap recognises endless parts of a host: calendars, session IDs, facets, soft errors (politeness rule 22). It
// is pure: a History is a value that the crawler reads from the host's own state, asks and tells, and writes back.
// Traps that show in a URL alone are the business of package scope.
//
// # Rules
//
//	trap:queries    a path has had more than 1,000 distinct queries, and they bring hardly anything new   hold
//	trap:template   a template has had more than 10,000 URLs, and they bring hardly anything new          hold
//	trap:copy       a page says what the page says that it was found on                                   drop its links
//
// A template is path and query with every run of digits written "#"; so is a run of 16 or more letters and digits with
// a digit in it, which is what session ids look like. "Hardly anything new" means that of the last 200 pages of that
// path or template less than 5 % had a shape that the host had not shown before. (Where the limit is below 200, so many
// pages are looked at.) A held URL may be released; so a mistake costs an operator's command and no page.
//
// # What a page says
//
// See Digester. The text of a page is what it says, word for word, its own URL and session id taken out: two pages with
// one text are copies. Its shape is the text with the numbers taken out, too: an empty calendar has about a dozen
// shapes, a forum as many as it has topics. Fractions stay in a page that has eight of them, for then they are what it
// is about: the rates of exchange of a day are no other day's. Whole numbers do not, and pages that differ by these
// alone, ten thousand of them, are held. The shape of a body other than HTML is its bytes.
//
// # Bounds, and on which side they err
//
// A History takes at most MaxSize bytes, whatever the host does. The rest is forgotten, and everything that is
// forgotten makes a rule come late, never early:
//
//   - Counts are those of Misra and Gries (Finding repeated elements, 1982): of n URLs counted in a table of k
//     counters, a count is at most what is true, and at least that less n/(k+1). A path or template with less than that
//     share of the host's URLs may never be noticed; it is not the host's trap then.
//   - Pages are looked at from 400 before the limit on. At most 16 paths and templates are looked at at one time; the
//     one that had no page for longest makes room, and begins anew.
//   - Of the shapes met, the last 448 distinct ones are remembered. One that is forgotten is new again: a trap that
//     shows more than those in turn is not recognised. A shape is remembered as 16 bits, so that at most 448 in 65,536
//     new ones, 0.7 %, pass for old.
//   - Of pages that were found to lead on, the last 160 are remembered. A copy of an older one is not recognised. URL
//     and text together are remembered as 32 bits: one page in 26 million is taken for a copy and is none.
//
// All of this is of one host: what it sends can harm no other.
package trap
