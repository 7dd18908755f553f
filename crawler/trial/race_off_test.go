//go:build !race

package trial

const racing = false
