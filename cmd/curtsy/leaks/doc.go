// Package leaks tests every way in which a credential of --auth or --header could leak (politeness rule 28).
//
// The tests run the program itself, once, against servers of their own, each of which keeps every octet that it is sent.
// Then they search all of that, files and packed files in files included, for the values as they are and as programs write
// them. What is searched must have a mark that stands where the value could stand: an empty file leaks nothing. The package
// has no code of its own.
package leaks
