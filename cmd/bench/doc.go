// Command bench compares the cost of crawling with curtsy, a bare loop and other crawlers. Each measured program runs as its own
// process, so that its processor time and memory are measured separately. docs/dev/performance.md explains the figures.
//
//	go run ./cmd/bench --vs bare --vs peers
package main
