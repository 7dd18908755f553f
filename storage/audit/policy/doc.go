// Package policy judges by robots.txt: which one was valid for a host at each moment of an archive, by its answers,
// redirects and dates (RFC 9309 2.3, 2.4); whether what was asked for was allowed by it; and whether the crawl tells
// of its verdicts what follows from that text.
//
// The caller keeps a Host for each host; the Judge keeps the redirects of robots.txt that wait to be followed.
// Package rules reads the texts themselves.
package policy
