// Package host decides from each response when a host may be requested again, and whether at all. It is pure: After takes
// the State of a host and a Signal from an exchange, and returns the next State and the Rest that follows:
//
//	state, rest := host.After(state, signal, terms)
//
// Classify reduces an exchange to an Answer, which selects the schedule of politeness rules 11 to 13. The Pace of Terms is the
// delay from the end of one exchange to the start of the next (rule 9); a rest is never shorter. Failures, throttling and
// refusals in a row outlive the process. A Pacer keeps the delay of an address (rule 10).
//
// Instants are microseconds of the crawl's steady clock, unless a name says wall clock.
package host
