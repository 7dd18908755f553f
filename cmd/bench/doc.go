// Command bench compares the cost of crawling with curtsy, a bare loop and other crawlers.
//
//	go run ./cmd/bench --vs bare --vs peers
//
// Each measured program is a process of its own, so that its processor time and memory are measured separately: main.go
// and setup.go read the command line, run.go runs the rounds, child.go is the other processes, web.go and judge.go the
// web and what its servers check. docs/dev/performance.md explains the figures.
package main
