// Package plan estimates a crawl before it starts: hosts, robots.txt, delays, sitemaps and duration.
//
// Make requests robots.txt and a bounded number of sitemaps in a dry run of the crawl, with its identity, scope, opt-out lists,
// delays and host locks. It stores nothing. Estimate.Basis states the assumptions, and Estimate.Unknown the gaps.
package plan
