// Package growth says how many URLs a host will have in the end, by how its known ones grew with those that are done.
//
// A page of a site whose pages link to each other finds the fewer new ones the more are known: the curve levels off, and
// where it levels off to can be seen long before. The pages of a tree, or of a list that is turned over page by page, find
// as many as ever until the last one: such a curve is open, and nothing can be said of its end. Expect tells the two apart
// and never guesses at an open one.
//
// The package is pure. A Curve keeps at most 16 points, whatever it is told of.
package growth
