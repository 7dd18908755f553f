//go:build !linux

package postgres

import "time"

// instant is a time of the monotonic clock.
type instant struct{ time time.Time }

func instantNow() instant { return instant{time.Now()} }

func (i instant) add(d time.Duration) instant { return instant{i.time.Add(d)} }

func (i instant) left() time.Duration { return time.Until(i.time) }
