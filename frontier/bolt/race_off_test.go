//go:build !race

package bolt

// racing says that the race detector is on, under which pools forget and allocations are more.
const racing = false
