// Command bench compares the cost of crawling with curtsy, a bare loop, an in-memory frontier and other crawlers.
//
//	go run ./cmd/bench --vs bare --vs peers
//
// Each measured program runs in its own process, so that its processor time and memory can be told apart. These are hidden
// commands of the program: web, crawl, bare, null, parts, frontier and check. docs/dev/performance.md explains the figures.
package main
