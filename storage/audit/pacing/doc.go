// Package pacing judges pauses: whether each exchange with a host came after the pause that was due, and after the
// rest that the server asked for; whether the pauses of a host are long enough in sum; whether too many exchanges
// began at one address; and whether the crawl tells of its pauses what its records show.
//
// A pause is a violation only when it is too short whatever the true instants were. Where it is not known to be long
// enough either, that is a finding.Doubt, with the reason. The arithmetic is the audit's own and shares nothing with
// the crawler's (crawler/host), but for what clocks may be off by (package pauses).
//
// The caller keeps a Host for each host; the Judge keeps what is known of addresses.
package pacing
