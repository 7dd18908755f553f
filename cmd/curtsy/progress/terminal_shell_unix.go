//go:build unix

package progress

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// shellOf is the shell of a terminal.
func shellOf(f *os.File) *shell {
	return &shell{
		listen: func(c chan<- os.Signal) { signal.Notify(c, syscall.SIGCONT) },
		ours: func() bool {
			group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
			return err != nil || group == unix.Getpgrp() // not the controlling terminal: no shell takes it
		},
	}
}
