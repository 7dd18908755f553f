//go:build unix

package durable

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock opens a pipe that took a file's place without waiting for its other end. Of a file it changes nothing.
const nonblock = syscall.O_NONBLOCK

// names returns how many names a file has.
func names(_ *os.File, fi fs.FileInfo) (int, error) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink), nil
	}
	return 1, nil
}
