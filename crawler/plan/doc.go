// Package plan estimates a crawl before it starts: hosts, robots.txt, delays, sitemaps and duration.
//
// Make asks for robots.txt and for a bounded number of sitemaps, in a dry run of the crawl itself: under its identity, its
// scope, its lists, its guard and its pace, and under the locks that all crawls of the user share. Nothing of that is kept.
//
// A plan knows no page. What it reckons with instead, and what it does not know, stands in it: Estimate.Basis and
// Estimate.Unknown. It never guesses how many pages a site has that names none, unless it is told (Expect).
package plan
