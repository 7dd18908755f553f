package bolt

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"curtsy/frontier"
)

// waiter is a Claim that has to wait. The first in line holds the alarm, a timer for the next thing that happens by
// itself; the others have none. Who leaves the head of the line wakes the next, so that a host that becomes due wakes
// one claim and not all of them.
type waiter struct {
	wake    chan struct{} // holds one
	maxWait time.Duration
}

// line is the claims that wait, in the order of their arrival. The first holds the alarm, and wakes the next when it
// leaves; the alarm is never later than the next thing that happens by itself.
type line struct {
	waiters []*waiter
	alarm   int64 // when the first will wake by itself
}

// join puts a new waiter at the end of the line.
func (ln *line) join(maxWait time.Duration) *waiter {
	w := &waiter{wake: make(chan struct{}, 1), maxWait: maxWait}
	ln.waiters = append(ln.waiters, w)
	return w
}

// leave takes w out of the line; nil is in none.
func (ln *line) leave(w *waiter) {
	i := slices.Index(ln.waiters, w)
	if i < 0 {
		return
	}
	ln.waiters = slices.Delete(ln.waiters, i, i+1)
	if i == 0 && len(ln.waiters) > 0 {
		ln.waiters[0].signal()
	}
}

// signal wakes w, now or when it waits next.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// over reports whether w has nothing to wait for.
func (w *waiter) over(s frontier.State, due time.Duration) bool {
	return s == frontier.Drained || s == frontier.Full || s == frontier.Waiting && due > w.maxWait
}

// wakeAll wakes every waiter.
func (ln *line) wakeAll() {
	for _, w := range ln.waiters {
		w.signal()
	}
}

// wakeFirst wakes the first in line.
func (ln *line) wakeFirst() {
	if len(ln.waiters) > 0 {
		ln.waiters[0].signal()
	}
}

// wakeFor tells the line of something that will happen at a time.
func (ln *line) wakeFor(at int64) {
	if len(ln.waiters) > 0 && at < ln.alarm {
		ln.alarm = at
		ln.waiters[0].signal()
	}
}

// await waits until w is woken, or until next, when something happens by itself, if w is the first. The caller holds mu;
// it is free during the wait.
func (ln *line) await(ctx context.Context, mu *sync.Mutex, w *waiter, now, next int64) error {
	var alarm <-chan time.Time
	if ln.waiters[0] == w {
		ln.alarm = next
		if next != math.MaxInt64 {
			timer := time.NewTimer(time.Duration(next - now))
			defer timer.Stop()
			alarm = timer.C
		}
	}
	mu.Unlock()
	defer mu.Lock()
	select {
	case <-w.wake:
	case <-alarm:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
