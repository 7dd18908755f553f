// Package cbcp goes through the Internet-Draft "Crawler best practices" clause by clause, and says of each whether the
// crawl kept it, broke it, or whether that cannot be proved from what it left behind.
//
// # The text
//
// The clauses are those of draft-illyes-webbotauth-cbcp-00 (21 April 2026) and of the editors' copy of 5 October 2026,
// which lowers nearly every MUST to SHOULD. The draft was named draft-illyes-aipref-cbcp before. Version -01 (October
// 2026) came too late to be read for the table. A clause has the level of either text; the higher one counts.
//
// # How it judges
//
// A Judge is a witness of package audit: it sees each exchange, and believes the audit about robots.txt, pauses and
// requests, whose findings it sorts by clause. The audit has no use for caching, X-Robots-Tag and credentials as the
// draft means them, so Conclude reads the heads of all messages in one pass of its own. Each clause has one check, a
// pure function of these facts.
//
// A clause is kept only where something shows it. An archive without an exchange, or without an answer that asks for
// anything, proves nothing: the clause is not provable, and the evidence says why. A number that the draft
// lacks, such as how often is too often, stands in docs/reference/cbcp.md with its reason.
//
// Memory grows with hosts, and with URLs up to a bound that the evidence names when it is reached.
package cbcp
