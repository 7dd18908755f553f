// Package crawler processes each URL from its lease to its outcome, on many workers.
//
// # One URL
//
// The function processTurn has these steps in order.
//
//  1. Claim. The frontier leases an authority that is due for one turn.
//  2. Opt-out. A listed URL is dropped before any lookup or request. Listed networks are checked when the crawler dials.
//  3. Gate. A missing or stale robots policy is fetched, and that exchange is the turn. While it is unreachable, the host
//     backs off and its URLs stay undecided.
//  4. Scope and verdict, as they are now, for the exact bytes that will be sent. A URL that looks like a trap is held.
//  5. The exchange, one for each turn, after lookup, lock and the delay of the address. If it has to wait, the turn ends.
//  6. Its meaning for the host.
//  7. Links or entries of a sitemap, each judged by the scope. Page-level directives apply here.
//  8. The outcome, or another attempt; then the WARC record and the ledger's line. docs/reference/ledger.md has the words.
//  9. Finish: outcome, links, host state and the wait until the next turn, applied together.
//
// A turn that outlasts two thirds of its lease is cut, so that no other worker sends a request to the host meanwhile. A
// panic, or such a cut, is a failed attempt of its task: its findings are dropped, its costs stay counted. A turn whose
// lease expired does not count and is repeated.
//
// In a later generation (Config.Past) requests are conditional (exchanger.go), a requisite with explicit freshness is
// settled without one (settle.go), and a 304 has the meaning of the archived response that it confirms (outcome.go).
//
// # Failures
//
// A failure of the world is a value: an outcome or a deferral, with a reason. A failure of curtsy's own state (disk,
// frontier) is an error and stops the crawl cleanly.
//
// # Hosts
//
// The state of a host is data in the frontier. Package host computes delays and back-offs from it. No goroutine belongs to a
// host or a URL, and none sleeps while it holds a turn. Own hosts (own.go) may have several exchanges at once (parallel.go).
//
// A robots.txt that redirects to another authority is fetched under the lease and delay of that authority (policy.go), so
// that no worker holds two leases and no hosts wait for each other. Sitemaps are tasks (sitemaps.go); their entries are added
// in batches.
//
// # A run
//
// Run ends when the frontier is drained, when no URL is due within MaxWait, when a budget is reached, or when it is
// asked to: Drain lets the exchanges under way finish; cancelling the context cuts them. No task is lost.
//
// The package opens no files: frontier, archive, ledger and fetcher are given to it.
package crawler
