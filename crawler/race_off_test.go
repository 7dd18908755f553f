//go:build !race

package crawler

// racing reports that the race detector is on. Everything is then ten times as slow, and tests whose size does not
// reveal more races are smaller.
const racing = false
