package postgres

import (
	"time"

	"golang.org/x/sys/unix"
)

// instant is a time of the monotonic clock, which stops while the computer sleeps, and of CLOCK_BOOTTIME, which does
// not.
type instant struct {
	time time.Time
	boot time.Duration
}

func instantNow() instant { return instant{time.Now(), sinceBoot()} }

func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

func (i instant) add(d time.Duration) instant { return instant{i.time.Add(d), i.boot + d} }

func (i instant) left() time.Duration { return min(time.Until(i.time), i.boot-sinceBoot()) }
