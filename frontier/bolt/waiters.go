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
// itself; the others have none. The first wakes the next when it leaves, so that a host that becomes due wakes
// one claim and not all of them.
type waiter struct {
	wake    chan struct{} // holds one
	maxWait time.Duration
}

// waiters are the claims that wait, in the order of their arrival. The first holds the alarm, and wakes the next when
// it leaves; the alarm is never later than the next thing that happens by itself.
type waiters struct {
	list  []*waiter
	alarm int64 // when the first will wake by itself
}

// join puts a new waiter at the end of the line.
func (ln *waiters) join(maxWait time.Duration) *waiter {
	w := &waiter{wake: make(chan struct{}, 1), maxWait: maxWait}
	ln.list = append(ln.list, w)
	return w
}

// leave takes w out of the line; nil is in none.
func (ln *waiters) leave(w *waiter) {
	i := slices.Index(ln.list, w)
	if i < 0 {
		return
	}
	ln.list = slices.Delete(ln.list, i, i+1)
	if i == 0 && len(ln.list) > 0 {
		ln.list[0].signal()
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
func (ln *waiters) wakeAll() {
	for _, w := range ln.list {
		w.signal()
	}
}

// wakeFirst wakes the first in line.
func (ln *waiters) wakeFirst() {
	if len(ln.list) > 0 {
		ln.list[0].signal()
	}
}

// wakeFor tells the line of something that will happen at a time.
func (ln *waiters) wakeFor(at int64) {
	if len(ln.list) > 0 && at < ln.alarm {
		ln.alarm = at
		ln.list[0].signal()
	}
}

// await waits until w is woken, or until next, when something happens by itself, if w is the first. The caller holds
// mu; it is free during the wait.
func (ln *waiters) await(ctx context.Context, mu *sync.Mutex, w *waiter, now, next int64) error {
	var alarm <-chan time.Time
	if ln.list[0] == w {
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
