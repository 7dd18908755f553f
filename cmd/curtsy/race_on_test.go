//go:build race

package main

// racing is true with the race detector, which takes several times the memory.
const racing = true
