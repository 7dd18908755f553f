// Package leaks tests every way in which a credential of --auth or --header could leak (politeness rule 28). The tests run the
// program against servers that keep all bytes they receive, then search all files, also packed ones, for the values in every
// spelling. Each searched place must have a mark beside the value's place: an empty file leaks nothing.
package leaks
