// Package explain says all that decides about one URL: the rules that were asked, the policy, the pace, the budgets, and the
// answer that follows.
//
// Facts go in and an Explanation comes out, both values. A running crawl gathers the facts, and so does the reader of a
// crawl that is stopped; package crawler has both. An explanation of the past begins as one of now, and takes the line, the
// policy and the response times of its instant instead (AsOf, TakeLine, TakePolicy, TakeResponses).
//
// Nothing in this package asks, writes or prints.
package explain
