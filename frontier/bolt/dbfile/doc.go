// Package dbfile opens and locks the file of a frontier. It opens the file under its lock, if its pages are sound; it
// makes one whole or not at all; and it turns a panic of bbolt, which a damaged page causes, into an error. Its errors
// say what went wrong in the words of package frontier, and what to do about it.
package dbfile
