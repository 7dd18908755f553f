// Package naive is an independent, slow and simple implementation of RFC 9309 and its two predecessors. Tests and the
// audit use it as an oracle, so that one misunderstanding cannot hide in both the crawler and its judge.
//
// Each function can be checked by eye against the standard. The time of each is bounded by the product of the lengths
// of body and target: the files come from the web.
//
// Where the documents leave a choice, its choices are those of package robots.
package naive
