package hostlock

import "golang.org/x/sys/unix"

// setLock makes locks of the open file, not of the process.
const setLock = unix.F_OFD_SETLK
