//go:build !race

package layout

// racing says that the race detector is on, under which pools forget and allocations are more.
const racing = false
