//go:build !linux && !darwin

package bolt

import "time"

// cpuTime returns the CPU time of this process so far; ok is false where it cannot be had, as here.
func cpuTime() (t time.Duration, ok bool) { return 0, false }
