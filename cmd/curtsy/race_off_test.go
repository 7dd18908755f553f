//go:build !race

package main

// racing says that the race detector is on, which takes several times the memory.
const racing = false
