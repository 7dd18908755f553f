//go:build unix

package progress

import (
	"os"

	"golang.org/x/sys/unix"
)

// foreground reports whether this process has the terminal, and not a shell after Ctrl-Z or bg.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error: not the controlling terminal
}
