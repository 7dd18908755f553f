// Package accesslog compares a crawl with the access logs of its sites.
//
// Compare is a witness of package audit: each exchange must be in the log, and each line of the crawler in the archive.
// Judge needs no archive: it judges a crawler by a log, robots.txt and a product token.
//
// Logs are in the Common or Combined Log Format, with or without the host before each line, or JSON objects; plain, gzip
// or zstd. Unreadable lines are counted and named. Lines are bounded, and sorting goes through package sorted, so memory is.
//
// A rotated or copied log begins and ends anywhere: the crawler is accused only of requests that the log would surely hold
// (see reach). A line has a whole second: Apache stamps the beginning of a request, nginx the end. Each result holds for both.
package accesslog
