// Package gate caches the robots policy of each host in bounded memory, and decides which product tokens bind (politeness
// rule 1). It also queues redirects of robots.txt to other authorities, whose lease and delay then apply.
//
// No worker holds two leases: the turn of the asking host ends first. If the other authority is due, the worker leases it and
// makes the exchange; otherwise it leaves a Request, which that authority's next turn serves, so that two hosts that redirect
// to each other do not block each other. The Answer waits for the host's next turn. After a crash it is requested again.
package gate
