// Package gate caches the robots policy of each host, and follows redirects of robots.txt to other hosts.
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
// Without Requests two hosts that redirect to each other could block each other for ever: each would find the other
// under a lease, wait for that, and be waiting itself when the other looks.
//
// The package makes no exchange and waits for nobody.
package gate
