// Package explaincmd is curtsy explain: it asks a crawl, its ledger and, if that was asked for, its archive or the host about
// one URL, and writes the answer.
package explaincmd
