//go:build unix

package progress

import (
	"os"

	"golang.org/x/sys/unix"
)

// foreground reports whether the terminal is this process's, and not the shell's after Ctrl-Z or bg.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error: not the controlling terminal, which no shell takes
}
