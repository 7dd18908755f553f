// Package explain lists everything that decides about one URL: scope, robots.txt, delays and budgets.
//
// Package crawler gathers Facts of a running or stopped crawl; Explain turns them into an Explanation, without requests or
// output. An explanation of the past starts with the present, and replaces line, policy and response times (AsOf, TakeLine,
// TakePolicy, TakeResponses).
package explain
