//go:build !race

package bolt

const racing = false
