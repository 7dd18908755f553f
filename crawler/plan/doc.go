// Package plan says what a crawl would ask of whom, before it is begun: the hosts of its seeds with their robots.txt and
// their paces, what is forbidden of the seeds and by which rule, what sitemaps name, and how long all of that takes.
//
// Make asks for robots.txt and for a bounded number of sitemaps, in a dry run of the crawl itself: under its identity, its
// scope, its lists, its guard and its pace, and under the locks that all crawls of the user share. Nothing of that is kept.
//
// A plan knows no page. What it reckons with instead, and what it does not know, stands in it: Estimate.Basis and
// Estimate.Unknown. It never guesses how many pages a site has that names none, unless it is told (Expect).
package plan
