// Package trial holds the audit against the crawler, on webs that chance makes up: a polite crawl is never accused.
//
// A case is a number, from which everything follows: hosts and their robots.txt, the octets of URLs, heads, bodies and
// codings, latencies, faults, when the crawl is killed and what its clock is set to in between, which lines of the hosts'
// access logs are left, which hosts share a log, and which files of one overlap. Pages, redirects and sitemaps lead to robots.txt,
// which changes. The crawl is the whole thing (crawler, crawler/fetch, frontier/bolt, archive, index, ledger), over
// pipes and in virtual time; only the web is made up, and it judges nothing. What the crawl leaves is audited after each life,
// with its ledger and with the logs. A violation is the audit's mistake or the crawler's; either is to be mended.
//
// Between two lives and behind the last one a URL or a host may be taken down, its bodies or all of it, as curtsy redact does
// (package redact, with the opt-out that it enters): the audit tells of each and excuses no more. The operator's key may be
// rotated before the next life, once or several times; whoever knows the first key alone still finds the ledger signed. The next life
// may be an update (crawldir.Update). For two
// hosts the last ledger gives a bundle for the owner (packages gather and proof), met or not, which must hold. In some cases
// there are hosts on loopback, which the crawl takes for its operator's own, with little delay or none, or for foreign ones.
//
// A kill is an instant at which every goroutine is blocked: the files are copied as they are then, with the end of what was
// being written cut off at random behind the last sync, as a kill or a power cut may leave it. Every life has a bubble of its
// own, and a clock of its own with it. A part of the trial kills processes.
//
// A case that fails prints its number and the host; CURTSY_CASE=number tries it again alone.
package trial
