// Package pacing checks the delays between requests, and the delays that the crawl recorded.
//
// A delay is a violation only if it is too short whatever the true instants were; one not known to be long enough is a
// finding.Doubt with its reason. The arithmetic shares nothing with the crawler's (crawler/host) except the tolerance for
// clocks (package pauses). The caller keeps a Host for each host; the Judge keeps addresses.
package pacing
