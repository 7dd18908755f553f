// Package trap recognises endless parts of a host: calendars, session IDs, facets, soft errors (politeness rule 22). It
// is pure: a History is a value that the crawler reads from the host's own state, queries, updates, and writes back.
// Package scope recognises traps by single URLs.
//
// # Rules
//
//	trap:queries    a path has had more than 1,000 distinct queries, and they bring hardly anything new   hold
//	trap:template   a template has had more than 10,000 URLs, and they bring hardly anything new          hold
//	trap:copy       a page has the text of the page that it was found on                                  drop its links
//
// A template is path and query with every run of digits written "#"; so is a run of 16 or more letters and digits with
// a digit in it, as in session ids. "Hardly anything new" means that of the last 200 pages of that
// path or template less than 5 % had a shape that the host had not shown before. (Where the limit is below 200, so many
// pages are looked at.) A held URL may be released; so a mistake costs a command, but no page.
//
// # The text of a page
//
// See Digester. Two pages with the same text, apart from their own URL and session id, are copies. The shape is the text without
// numbers: an empty calendar has about a dozen shapes, a forum as many as topics. Fractions stay if a page has eight of them,
// such as exchange rates. The shape of a body other than HTML is its bytes.
//
// # Bounds
//
// A History takes at most MaxSize bytes. Forgotten data makes a rule late, never early:
//
//   - Counts are those of Misra and Gries (Finding repeated elements, 1982): of n URLs in k counters, a count is at most the true
//     one, and at least that less n/(k+1). A smaller share of the host's URLs may go unnoticed.
//   - Pages are watched from 400 before the limit on, for at most 16 paths and templates at a time.
//   - The last 448 shapes are kept, with 16 bits each, so that at most 0.7 % of new ones count as old. A trap with more shapes is
//     not recognised.
//   - Of pages that lead on, the last 160 are kept, URL and text in 32 bits: one page in 26 million is mistaken for a copy.
//
// A host can only harm itself.
package trap
