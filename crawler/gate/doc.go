// Package gate knows which robots policy holds at a host, and keeps the requests for robots.txt that lead elsewhere.
//
// A Gate keeps parsed rulebooks in bounded memory, by the digest of their file; the files are in the frontier, and so is
// what policy a host has now. Which product tokens bind us in a file is decided here (politeness rule 1).
//
// # Redirects
//
// A robots.txt may redirect to another authority, whose lease, pace and Crawl-delay then hold for that exchange. No
// worker holds two leases: the turn of the host that asks is finished first. If the other authority is due, the worker
// leases it and makes the exchange; if not, it leaves a Request, and the other authority's own next turn serves it. The
// Answer waits for the host's next turn. All of that is memory: lost in a crash, it is asked for again.
//
// Requests keep two hosts that redirect to each other from blocking each other: each makes itself wait when it finds the
// other at work, and would be found waiting in turn, for ever.
//
// The package makes no exchange and waits for nobody.
package gate
