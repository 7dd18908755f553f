// Command bench compares the cost of crawling with curtsy, a bare loop and other crawlers.
//
//	go run ./cmd/bench --vs bare --vs peers
//
// Each measured program is a process of its own, so that its processor time and memory are measured separately: main.go
// reads the command line, run.go runs the rounds and is the other processes, web.go is the web and checks what its servers
// see. docs/dev/performance.md explains the figures.
package main
