// Package seedlist reads lists of seeds: one URL per line, optionally a tab and a tag. A list may have millions; what is
// in hand of it is a batch, and a hash of each seed.
//
// A line that is no seed is told and passed over: a list of others has such lines, and a crawl of the rest is wanted.
package seedlist
