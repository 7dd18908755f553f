// Package policy judges by robots.txt: which one was valid for a host at each moment of an archive, by its answers,
// redirects and dates (RFC 9309 2.3, 2.4); whether what was asked for was allowed by it; and whether the crawl tells
// of its verdicts what follows from that text.
//
// What is known of a host is a Host, which the caller keeps; the redirects of robots.txt that wait to be followed,
// the Judge. What a text says is for package rules.
package policy
