// Package checkers holds curtsy linkcheck beside checkers of others: what each finds of the faults of a site that are known
// (crawler/check/faulty), what it takes for one and is none, and how long each takes for a folder of pages.
//
//	result, err := checkers.Run(ctx, checkers.Config{Self: program, Docs: "/usr/share/doc/python3-doc/html"}, say)
//
// Each is a process of its own, curtsy too, and asks a server in this one. They take turns, in rounds. What a checker of
// others found is read from what it prints: a fault is found if its URL stands there, which is generous. What curtsy found is
// read from its JSON form, where it has to be of the right kind.
package checkers
