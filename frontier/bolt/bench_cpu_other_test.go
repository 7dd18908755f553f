//go:build !linux && !darwin

package bolt

import "time"

func cpuTime() (t time.Duration, ok bool) { return 0, false }
