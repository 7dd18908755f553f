package record

import (
	"context"
	"runtime"
	"sync"
	"time"

	"curtsy/frontier/canon"
)

// Meter tells how an exchange goes on. Its methods may be called at any time, concurrently.
type Meter interface {
	Octets() int64       // that came so far
	Ours() time.Duration // for how long it waited for us
}

// patience is after which time an exchange is slow.
const patience = time.Second

// slowShare is how many slow exchanges there may be for each slot.
const slowShare = 4

// brisk is from which speed on, in octets per second, a long exchange is a long answer rather than a slow one: it is cut
// only when all that last long are brisk.
const brisk = 16 << 10

// Limiter has slots for exchanges. Its methods may be called concurrently.
type Limiter struct {
	slots chan struct{}
	most  int // slow exchanges at once

	mu    sync.Mutex
	slow  map[*flight]struct{}
	begun map[canon.Authority]int // exchanges that have not ended
}

// NewLimiter returns a limiter of so many slots.
func NewLimiter(slots int) *Limiter {
	return &Limiter{slots: make(chan struct{}, slots), most: slowShare * slots, slow: map[*flight]struct{}{}, begun: map[canon.Authority]int{}}
}

// Most is how many exchanges there may be in all, the slow ones among them.
func (r *Limiter) Most() int { return cap(r.slots) + r.most }

// Slow is how many exchanges are slow now.
func (r *Limiter) Slow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.slow)
}

// Exchanges returns how many exchanges are under way in all, the slow ones among them.
func (r *Limiter) Exchanges() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.begun {
		n += int64(of)
	}
	return n
}

// With returns how many exchanges with a host are under way.
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

// Slot is for one exchange after the other. It is used by one goroutine at a time.
type Slot struct {
	limiter *Limiter
	lost    func() // called once when the slot is given back by being slow; may be nil

	mu   sync.Mutex
	held bool
}

// OnLoss has f called, once and from another goroutine, when the slot is given back because its exchange is slow.
func (s *Slot) OnLoss(f func()) { s.lost = f }

// Held reports whether the slot is one still: a slow exchange loses it.
func (s *Slot) Held() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Leave gives the slot back, unless that has happened.
func (s *Slot) Leave() { s.release() }

// release gives the slot back and reports whether there was one.
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

// flight is an exchange in flight.
type flight struct {
	slot  *Slot
	meter Meter
	cut   func()
	begun time.Time
	timer *time.Timer
	over  bool // it has ended or was cut; Limiter.mu is held for it
}

// lasted is how long the host has made us wait.
func (f *flight) lasted() time.Duration { return time.Since(f.begun) - f.meter.Ours() }

// brings reports whether f is long rather than slow.
func (f *flight) brings() bool {
	return float64(f.meter.Octets()) >= brisk*f.lasted().Seconds()
}

// Begin says that an exchange with a host begins, and returns what is to be called when it is over. cut ends it early: it is called at
// most once, from another goroutine, perhaps when the exchange is just over.
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

// late makes f slow, if it is.
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

// longest is the slow exchange that has lasted longest: of those that bring little, or, unless there must be one of them,
// of all. It is nil when there is none. The caller holds mu.
func (r *Limiter) longest(little bool) (longest *flight) {
	brings := true
	var lasted time.Duration
	for f := range r.slow {
		b, d := f.brings(), f.lasted()
		if b && little {
			continue
		}
		if longest == nil || brings && !b || brings == b && d > lasted {
			longest, brings, lasted = f, b, d
		}
	}
	return longest
}

// end cuts f. The caller holds mu.
func (r *Limiter) end(f *flight) {
	f.over = true
	delete(r.slow, f)
	go f.cut()
}

// Press cuts the exchange that has lasted longest of those that bring little, if there is one that has lasted for least.
func (r *Limiter) Press(least time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.longest(true); f != nil && f.lasted() >= least {
		r.end(f)
	}
}

// CPU bounds how much work for a processor is done at one time: of Workers that all have an answer in hand, those that
// the processors have no time for would only hold memory, a tree or the tables of a compressor each. What waits for
// others (the network, the pace) has no need of it.
type CPU chan struct{}

// NewCPU returns as many tokens as keep the processors busy though one or the other waits for a disk.
func NewCPU() CPU { return make(CPU, 2*runtime.GOMAXPROCS(0)) }

// Acquire waits for a free token, or for the end of ctx, whose error it returns. Whoever has one takes no other.
func (c CPU) Acquire(ctx context.Context) error {
	select {
	case c <- struct{}{}: // even if ctx is over: what came whole is kept
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

// Release gives a token back.
func (c CPU) Release() { <-c }
