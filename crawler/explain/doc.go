// Package explain lists everything that decides about one URL: scope, robots.txt, delays and budgets.
//
// Facts go in and an Explanation comes out, both values. A running crawl gathers the facts, and so does the reader of a
// crawl that is stopped; package crawler has both. An explanation of the past begins as one of now, and takes the line, the
// policy and the response times of its instant instead (AsOf, TakeLine, TakePolicy, TakeResponses).
//
// Nothing in this package asks, writes or prints.
package explain
