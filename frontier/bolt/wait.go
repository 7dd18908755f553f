package bolt

import (
	"context"
	"math"
	"slices"
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

// queueUp puts a new waiter at the end of the line. The caller holds mu.
func (f *Frontier) queueUp(maxWait time.Duration) *waiter {
	w := &waiter{wake: make(chan struct{}, 1), maxWait: maxWait}
	f.scheduler.waiters = append(f.scheduler.waiters, w)
	return w
}

// stepOut takes w out of the line; nil is in none. The caller holds mu.
func (f *Frontier) stepOut(w *waiter) {
	i := slices.Index(f.scheduler.waiters, w)
	if i < 0 {
		return
	}
	f.scheduler.waiters = slices.Delete(f.scheduler.waiters, i, i+1)
	if i == 0 && len(f.scheduler.waiters) > 0 {
		f.scheduler.waiters[0].signal()
	}
}

// signal wakes w, now or when it waits next.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// await waits until w is woken. The caller holds mu; it is free during the wait.
func (f *Frontier) await(ctx context.Context, w *waiter, now int64) error {
	var alarm <-chan time.Time
	if f.scheduler.waiters[0] == w {
		f.scheduler.alarm = math.MaxInt64
		if !f.shut() {
			f.scheduler.alarm = f.scheduler.due.Earliest()
		}
		if l := f.scheduler.leases; len(l) > 0 {
			f.scheduler.alarm = min(f.scheduler.alarm, l[0].At)
		}
		if f.scheduler.alarm != math.MaxInt64 {
			timer := time.NewTimer(time.Duration(f.scheduler.alarm - now))
			defer timer.Stop()
			alarm = timer.C
		}
	}
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-w.wake:
	case <-alarm:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// wakeFor tells the line of something that will happen at a time. The caller holds mu.
func (f *Frontier) wakeFor(at int64) {
	if d := &f.scheduler; len(d.waiters) > 0 && at < d.alarm {
		d.alarm = at
		d.waiters[0].signal()
	}
}

// wakeEnded wakes the waiters for which the end of the last lease is the end of the wait. The caller holds mu.
func (f *Frontier) wakeEnded(now int64) {
	if f.scheduler.out > 0 && !f.full || len(f.scheduler.waiters) == 0 {
		return
	}
	state, due := f.summary(now)
	for _, w := range f.scheduler.waiters {
		if w.over(state, due) {
			w.signal()
		}
	}
}

// over reports whether w has nothing to wait for.
func (w *waiter) over(s frontier.State, due time.Duration) bool {
	return s == frontier.Drained || s == frontier.Full || s == frontier.Waiting && due > w.maxWait
}

// wakeAll wakes every waiter. The caller holds mu.
func (f *Frontier) wakeAll() {
	for _, w := range f.scheduler.waiters {
		w.signal()
	}
}
