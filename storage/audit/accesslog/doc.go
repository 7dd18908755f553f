// Package accesslog compares a crawl with the access logs of its sites.
//
// # Two doors
//
// Compare is a witness of package audit: every exchange of an archive must stand in the log, and every line of the
// crawler in the archive. Judge needs no archive: it takes a log, the robots.txt and a product token, and says what
// can be said of a crawler that left no other trace.
//
// # How logs are read
//
// Line by line, in the Common or the Combined Log Format, with or without the host before each line, or as objects of
// JSON; plain or compressed with gzip or zstd. A line that cannot be read is counted and named, and those behind it
// are read. A line is bounded, and what must be put in order goes through package sorted, so memory is bounded
// whatever the log.
//
// # What a log covers
//
// A log that was rotated or copied begins and ends anywhere, also inside the crawl. The crawler is accused only of
// what the log would surely hold: see reach. The rest is counted, and said.
//
// A line has a whole second, and not every server writes the same one: Apache's stamps the beginning of a request,
// nginx's the end. Whatever is said holds for both.
package accesslog
