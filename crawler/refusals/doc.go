// Package refusals bounds what a crawl writes about URLs that it does not ask for, and sees to it that this is written in
// time. A Limiter gives lines to the first refusals of one reason at one host and counts the others; a Recent knows which
// keys have their line; a Flusher has refusals synced though no turn ends. None of them writes: they say what is to be
// written, and when.
package refusals
