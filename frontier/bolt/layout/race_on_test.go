//go:build race

package layout

const racing = true
