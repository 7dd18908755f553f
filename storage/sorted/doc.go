// Package sorted sorts byte strings in bounded memory, with temporary files. Two accounts of one crawl are compared so:
// each tells what it knows under a key, both are sorted into one, and what belongs together comes out side by side, in
// whatever order it went in.
//
// A Sorter is filled first and read afterwards, as often as wanted, by one goroutine. Close takes its files off the
// disk.
package sorted
