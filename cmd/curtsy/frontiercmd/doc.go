// Package frontiercmd is curtsy frontier: it shows the frontier of a crawl, running or not, changes it as an operator may,
// moves it as a file, and saves what is readable of a damaged one.
package frontiercmd
