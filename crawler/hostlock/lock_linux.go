package hostlock

import "golang.org/x/sys/unix"

// setLock makes locks of the open file, not of the process: whoever else in this process opens and closes the file does no
// harm.
const setLock = unix.F_OFD_SETLK
