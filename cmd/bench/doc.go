// Command bench measures what crawling costs on this machine: curtsy beside the bare loop, a frontier in memory and other
// crawlers, in rounds that alternate, on a web that a process of its own serves.
//
//	go run ./cmd/bench --vs bare --vs peers
//
// Each measured program runs in its own process, so that its processor time and memory can be told apart. These are hidden
// commands of the program: web, crawl, bare, null, parts, frontier and check. docs/dev/performance.md explains the figures.
package main
