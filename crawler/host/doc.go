// Package host decides from each response when a host may be requested again, and whether at all.
// It is pure. State is what is remembered of a host from turn to turn, a value that a frontier keeps as bytes; After takes
// a state and a Signal, what an exchange told of the host, and gives the next state and the Rest that follows:
//
//	state, rest := host.After(state, signal, terms)
//
// Classify reduces an exchange to an Answer: which of the schedules of politeness rules 11 to 13 it belongs to. Terms are
// what holds beside the answers: the floor, whose host it is, and what its robots.txt asks for. Their Pace is the least
// pause between the end of one exchange and the start of the next (rule 9); a rest is never shorter.
//
// Failures, 429s and 503s, and refusals are counted in rows, which outlive the process. An answer ends a row; a failure to
// answer does not, and an answer for robots.txt ends none that a page is part of.
//
// Rules are what the operator sets for hosts, and Spans the hours in which a crawl may run. A Pacer keeps the pause
// between requests to one address, whatever hosts it serves (rule 10).
//
// Instants are microseconds of the crawl's steady clock, unless a name says that they are of the wall clock. The package
// does no I/O and starts nothing.
package host
