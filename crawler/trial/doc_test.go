// Package trial audits crawls of random webs: a polite crawl is never accused.
//
// A case is a number that determines everything: hosts and robots.txt, bytes of URLs, heads, bodies and codings, latencies,
// faults, kills, clock steps, and which access logs exist. The crawl is complete (crawler, crawler/fetch, frontier/bolt,
// archive, index, ledger), over pipes and in virtual time. Each life is audited with its ledger and the logs; any violation
// is a bug of the audit or of the crawler. Between lives a URL or host may be taken down, the operator's key rotated, and the
// crawl updated. Two hosts get a proof bundle, which must hold. Some cases have hosts on loopback.
//
// A kill is an instant at which every goroutine is blocked: the files are copied, with unsynced ends cut off at random.
//
// A case that fails prints its number; CURTSY_CASE=number repeats only that case.
package trial
