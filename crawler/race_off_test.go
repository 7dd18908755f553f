//go:build !race

package crawler

// racing reports that the race detector is on. Everything is then ten times as slow, and tests whose size shows nothing
// more about races are smaller.
const racing = false
