// Package simulation runs the whole crawler against a web that is made by arithmetic, in virtual time: everything
// from the claim to the commit is the real thing (package crawler, the engine frontier/bolt on a file, gate, pace,
// schedules, extraction), and only the exchange itself is stubbed, at the interface that the crawler asks for.
//
// The stub is the referee as well. It knows of each host when the last exchange ended and what pause is due by then,
// reckoned from the rules and not by the crawler's own code, and it judges each exchange as it begins. What a URL
// answers follows from a hash of it and, for faults, of the number of the exchange with its host: no page is kept
// anywhere. Of each page the referee has four bits, to tell a second fetch from a retry and a host that has something
// to do from one that has run dry.
//
// Latencies are whole ticks. So exchanges of many hosts begin and end at the same instant of virtual time, and a
// machine with several cores has something to do for all of them.
package simulation
