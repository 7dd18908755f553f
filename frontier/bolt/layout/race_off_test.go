//go:build !race

package layout

const racing = false
