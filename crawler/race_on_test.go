//go:build race

package crawler

// racing says that the race detector is on, which makes all of ten times as slow. Then tests whose size shows nothing
// more about races are smaller.
const racing = true
