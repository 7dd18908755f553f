// Package pages reads the page format of bbolt, so that a file that a disk or a power cut has spoilt can be looked at
// before bbolt maps it, or without it.
//
// It is a second reader of a format that is not ours and that no document promises: bbolt checks its meta pages alone,
// trusts all others, and ends the process when one of them is not what it should be (decision 6). A test pins it to the
// version of bbolt in go.mod, in whose sources the places are that comments here name.
//
// It reads nothing through a memory map, writes nothing, and knows nothing of what a frontier keeps in its buckets.
package pages
