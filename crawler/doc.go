// Package crawler processes each URL from its lease to its outcome, on many workers.
//
// # One URL
//
// A worker goes through these steps; the function story has 2 to 8, in this order.
//
//  1. Claim. An authority that is due is leased from the frontier for one turn.
//  2. Opt-out. A URL that is on an opt-out list is dropped before anything else, robots.txt and look-ups included; where
//     networks are listed, the address about to be dialled is judged as well.
//  3. The gate. The authority's robots policy must be valid now. A missing or stale one is fetched first, and that
//     exchange is the turn. While it cannot be had the host is parked and nothing is decided about its URLs.
//  4. Scope and verdict. The task is judged again, as the configuration stands now, so that a changed scope needs no pass
//     over all URLs that wait; and for the exact octets of path and query that will be sent.
//     A task that a trap's history speaks against is held: set aside, for an operator to release.
//  5. The exchange: one. Before it a foreign host is looked up, its lock taken, and its place taken in the queue before
//     its address (package address); if it has to wait, the turn ends without an exchange and the place is kept.
//  6. The meaning: what the answer, or the want of one, says of the host.
//  7. Links, from HTML that no fault cut short and that is no copy of the page before, each judged by the scope; or what
//     a sitemap lists, if it is one. What the page asks of robots is obeyed here: nofollow of a page or of a link.
//  8. The outcome: how the task ends, or that it comes again. A redirect is an outcome; its target is a candidate like any
//     other. Then the record of the exchange with that decision and the links found, without its body where that asks not
//     to be archived; then the ledger's line. What needs no exchange is archived as a refusal before its line.
//     docs/reference/ledger.md has the words.
//  9. Finish: outcome, links, host state and the wait until the next turn, applied together.
//
// A turn that outlasts two thirds of its lease is cut short, so that nobody else asks the host meanwhile; what came of a
// task's exchange until then is archived (outcome.go). A panic, or such a cut, is a failed attempt of the task in whose
// middle it came: what was found is let go (links.go), what the exchange cost stays counted. A turn whose lease ran out
// all the same counts for nothing, and whatever it said is said again.
//
// # An update
//
// A later generation of a crawl has a Past: what was archived of a URL before. Then the exchange of step 5 is conditional
// (exchanger.go), a requisite that is fresh by what its server said is settled before it (settle.go), and a 304 is told in
// steps 6 to 8 as the archived answer that it confirms.
//
// # Failures
//
// A failure of the world is a value: an outcome or a deferral, with a reason. A failure of our own state (disk,
// frontier) is an error and stops the crawl cleanly.
//
// # The host
//
// What is known of a host is data in the frontier: its robots state and a few bytes of memory (response times,
// failures in a row). Package host decides what an exchange means for the host: the pace, a park, retirement. No goroutine
// belongs to a host or a URL, and nobody sleeps while holding a turn.
//
// A host that is the operator's own (own.go says how that is proved) may be asked for several pages at once where nobody
// asks for a pace: parallel.go has that turn.
//
// A robots.txt that redirects to another authority is asked for there under the lease and pace of that; policy.go
// says how, without a worker that holds two leases and without hosts that wait for each other.
//
// # Sitemaps
//
// A sitemap that a robots.txt or the operator names is a task among others; sitemaps.go says how it becomes one and for whom
// it speaks. What it lists, up to 50,000 URLs, is made durable in batches while it is read, so that no turn's result
// is larger than one of them.
//
// # Addresses and other crawls
//
// Many hosts may be at one address: package address keeps a pace there, too. Other crawls of the same user may want the same host:
// hostLocks, which package hostlock implements, keep them out while we ask it.
//
// # Lines
//
// A line says which pause was due before its exchange, the pace or the rest that the exchange before was followed by, and
// which exchange last said what the host's policy is; both are in the host's memory. Refusals and holds of one rule at one
// host have a thousand lines and are counted from then on (package refusals).
//
// # A run
//
// Run ends when the frontier is drained, when nothing is due within MaxWait, when a budget is reached, or when it
// is asked to: Drain lets the exchanges under way finish and begins no other; cancelling the context cuts them at once.
// What is cut is archived as far as it came, and asked for again.
// Either way no task is lost, and what was not finished is pending at the next run.
//
// The package never opens a file or a database: frontier, archive, ledger and fetcher are given to it. Package status says
// how a run stands, package explain all that decides about a URL; package control lets others ask a running crawl.
package crawler
