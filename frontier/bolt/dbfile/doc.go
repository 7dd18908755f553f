// Package dbfile gets hold of the one file of a frontier, and of nothing in it: opened under its lock when its pages
// are sound, made whole or not at all, and read or written so that a panic of bbolt in a damaged page is an error. It
// says what went wrong in the words of frontier, and what to do about it.
package dbfile
