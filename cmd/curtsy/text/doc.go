// Package text writes for people what the program knows as values: how a crawl is, how a run ended, sizes and times. It
// reads nothing and asks nobody: a value in, a text out. JSON has all of it; a text leaves out what would be too long.
package text
