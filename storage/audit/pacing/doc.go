// Package pacing checks the delays between requests, and the delays that the crawl recorded.
//
// A pause is a violation only when it is too short whatever the true instants were. Where it is not known to be long
// enough either, that is a finding.Doubt, with the reason. The arithmetic is the audit's own and shares nothing with
// the crawler's (crawler/host), but for what clocks may be off by (package pauses).
//
// The caller keeps a Host for each host; the Judge keeps what is known of addresses.
package pacing
