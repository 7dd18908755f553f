// Package text formats results for people: crawl state, summaries, sizes and times. Each function turns a
// value into text and does no I/O. JSON output is complete; text leaves out what would be too long.
package text
