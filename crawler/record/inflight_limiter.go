package record

import (
	"context"
	"runtime"
	"sync"
	"time"

	"curtsy/frontier/canon"
)

// Meter measures an exchange. Its methods may be called concurrently.
type Meter interface {
	Octets() int64       // received so far
	Ours() time.Duration // the time it waited for curtsy
}

const (
	patience  = time.Second // an exchange is slow after it
	slowShare = 4           // slow exchanges for each slot

	// brisk is the speed, in bytes per second, from which a long exchange is cut only if all others are as fast.
	brisk = 16 << 10
)

// Limiter has slots for exchanges. Its methods may be called concurrently.
type Limiter struct {
	slots chan struct{}
	most  int // slow exchanges at once

	mu    sync.Mutex
	slow  map[*flight]struct{}
	begun map[canon.Authority]int // exchanges that have not ended
}

func NewLimiter(slots int) *Limiter {
	return &Limiter{slots: make(chan struct{}, slots), most: slowShare * slots, slow: map[*flight]struct{}{}, begun: map[canon.Authority]int{}}
}

// Most returns the maximum of exchanges, including slow ones.
func (r *Limiter) Most() int { return cap(r.slots) + r.most }

func (r *Limiter) Slow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.slow)
}

// Exchanges counts the exchanges under way, including slow ones.
func (r *Limiter) Exchanges() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.begun {
		n += int64(of)
	}
	return n
}

// With counts the exchanges with a host.
func (r *Limiter) With(a canon.Authority) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(r.begun[a])
}

// Take waits for a slot, or for the end of ctx, whose error it returns.
func (r *Limiter) Take(ctx context.Context) (*Slot, error) {
	select {
	case r.slots <- struct{}{}:
		return &Slot{limiter: r, held: true}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Try returns a slot if one is free, or nil.
func (r *Limiter) Try() *Slot {
	select {
	case r.slots <- struct{}{}:
		return &Slot{limiter: r, held: true}
	default:
		return nil
	}
}

// Slot is for one exchange after the other, by one goroutine at a time.
type Slot struct {
	limiter *Limiter
	lost    func() // may be nil

	mu   sync.Mutex
	held bool
}

// OnLoss sets the function to call, once and from another goroutine, when a slow exchange loses the slot.
func (s *Slot) OnLoss(f func()) { s.lost = f }

// Held reports whether the slot is held: a slow exchange loses it.
func (s *Slot) Held() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Leave returns the slot, unless it is lost.
func (s *Slot) Leave() { s.release() }

// release returns the slot and reports whether it was held.
func (s *Slot) release() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held {
		return false
	}
	s.held = false
	<-s.limiter.slots
	return true
}

type flight struct {
	slot  *Slot
	meter Meter
	cut   func()
	begun time.Time
	timer *time.Timer
	over  bool // it has ended or was cut; needs Limiter.mu
}

// lasted returns the time that the host took.
func (f *flight) lasted() time.Duration { return time.Since(f.begun) - f.meter.Ours() }

// Begin begins an exchange with a host; call end after it. cut ends it early: it is called at most once, from another goroutine,
// perhaps just after the exchange.
func (s *Slot) Begin(a canon.Authority, m Meter, cut func()) (end func()) {
	f := &flight{slot: s, meter: m, cut: cut, begun: time.Now()}
	r := s.limiter
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun[a]++
	f.timer = time.AfterFunc(patience, func() { r.late(f) })
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		f.timer.Stop()
		if r.begun[a]--; r.begun[a] == 0 {
			delete(r.begun, a)
		}
		f.over = true
		delete(r.slow, f)
	}
}

func (r *Limiter) late(f *flight) {
	r.mu.Lock()
	if f.over {
		r.mu.Unlock()
		return
	}
	if left := patience - f.lasted(); left > 0 {
		f.timer.Reset(left)
		r.mu.Unlock()
		return
	}
	if len(r.slow) >= r.most {
		r.end(r.longest(false))
	}
	r.slow[f] = struct{}{}
	r.mu.Unlock()
	if f.slot.release() && f.slot.lost != nil {
		f.slot.lost()
	}
}

// longest returns the longest slow exchange below brisk or, unless little, of all; nil if there is none. It needs mu.
func (r *Limiter) longest(little bool) (longest *flight) {
	brings := true
	var lasted time.Duration
	for f := range r.slow {
		d := f.lasted()
		b := float64(f.meter.Octets()) >= brisk*d.Seconds()
		if b && little {
			continue
		}
		if longest == nil || brings && !b || brings == b && d > lasted {
			longest, brings, lasted = f, b, d
		}
	}
	return longest
}

// end cuts f. It needs mu.
func (r *Limiter) end(f *flight) {
	f.over = true
	delete(r.slow, f)
	go f.cut()
}

// Press cuts the longest slow exchange below brisk, if it has lasted for least.
func (r *Limiter) Press(least time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.longest(true); f != nil && f.lasted() >= least {
		r.end(f)
	}
}

// CPU bounds concurrent work for processors: further workers would only hold memory for trees and compressors.
type CPU chan struct{}

// NewCPU returns enough tokens to keep the processors busy while some holders wait for a disk.
func NewCPU() CPU { return make(CPU, 2*runtime.GOMAXPROCS(0)) }

// Acquire waits for a token, or returns the error of ctx. The holder of one must not take another.
func (c CPU) Acquire(ctx context.Context) error {
	select {
	case c <- struct{}{}: // even if ctx is over: a complete response is kept
		return nil
	default:
	}
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c CPU) Release() { <-c }
