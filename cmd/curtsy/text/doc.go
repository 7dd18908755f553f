// Package text formats results for people: crawl state, summaries, sizes and times. It reads nothing and asks nobody: a
// value in, a text out. JSON has all of it; a text leaves out what would be too long.
package text
