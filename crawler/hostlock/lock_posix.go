//go:build darwin || dragonfly || freebsd || netbsd

package hostlock

import "golang.org/x/sys/unix"

// setLock makes locks of the process (POSIX fcntl). Closing the file drops all of them.
const setLock = unix.F_SETLK
