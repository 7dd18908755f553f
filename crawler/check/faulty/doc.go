// Package faulty is a small site with faults that are known: 93 of 31 kinds, three of each, and beside them what looks like
// a fault and is none. Checkers of links are held against it, this one and others: all are to be found, and none invented.
//
// A Site is a handler: whoever serves it says under which URL, and Faults says where each fault then stands.
package faulty
