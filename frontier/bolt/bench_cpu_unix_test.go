//go:build linux || darwin

package bolt

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time of this process so far, in user and system mode; ok is false where it cannot be had.
func cpuTime() (t time.Duration, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
