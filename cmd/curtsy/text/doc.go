// Package text turns values into text for people: the state of a crawl, the end of a run, sizes and times. It
// reads nothing and asks nobody: a value in, a text out. JSON has all of it; a text leaves out what would be too long.
package text
