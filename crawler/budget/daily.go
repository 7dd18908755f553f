package budget

import (
	"math"
	"sync"
	"time"

	"curtsy/frontier/canon"
)

// PerHostPerDay is the name of the cap that Daily keeps.
const PerHostPerDay = "per-host-per-day"

// Daily caps the requests to each host within any 24 hours, whatever they are for. Its methods may be called concurrently.
//
// It counts by the hour, and an hour's requests count until its end is a day ago: so the cap holds for every 24 hours,
// wherever they begin, and a host may have to wait for an hour longer than it would by the second.
type Daily struct {
	most func(canon.Authority) int64 // requests to a host; zero for any number

	mu    sync.Mutex
	hosts map[canon.Authority]*hours
}

// hours are the requests to a host, by the hour since 1970 that they were made in.
type hours map[int64]int64

// NewDaily returns a cap of so many requests a day to each host; zero for any number.
func NewDaily(most func(canon.Authority) int64) *Daily {
	return &Daily{most: most, hosts: map[canon.Authority]*hours{}}
}

// Made counts a request that was made at some time before now, which may be that of another run.
func (d *Daily) Made(a canon.Authority, at, now time.Time) {
	if at.After(now) { // the clock was set back since
		at = now
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.most(a) > 0 && expires(hour(at)).After(now) {
		(*d.of(a, now))[hour(at)]++
	}
}

// Take counts a request that is about to be made, and returns zero; or it returns how long that has to wait.
func (d *Daily) Take(a canon.Authority, now time.Time) (wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := d.most(a)
	if most == 0 {
		return 0
	}
	h := d.of(a, now)
	if wait = h.wait(most, now); wait == 0 {
		(*h)[hour(now)]++
	}
	return wait
}

// Return takes back what Take counted at some time: the request was not made.
func (d *Daily) Return(a canon.Authority, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.hosts[a]; h != nil && (*h)[hour(at)] > 0 {
		(*h)[hour(at)]--
	}
}

// Left is how many requests to a may be made now, and after how long there are more when there are none.
func (d *Daily) Left(a canon.Authority, now time.Time) (n int64, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := d.most(a)
	if most == 0 {
		return math.MaxInt64, 0
	}
	h := d.of(a, now)
	return max(most-h.sum(), 0), h.wait(most, now)
}

// of are the hours of a host that count still.
func (d *Daily) of(a canon.Authority, now time.Time) *hours {
	h := d.hosts[a]
	if h == nil {
		h = &hours{}
		d.hosts[a] = h
	}
	for at := range *h {
		if !expires(at).After(now) {
			delete(*h, at)
		}
	}
	return h
}

func (h hours) sum() (n int64) {
	for _, made := range h {
		n += made
	}
	return n
}

// wait is how long it takes until the sum is below most.
func (h hours) wait(most int64, now time.Time) time.Duration {
	over := h.sum() - most
	if over < 0 {
		return 0
	}
	for at := hour(now) - 25; at <= hour(now)+1; at++ {
		if over -= h[at]; over < 0 && h[at] > 0 {
			return expires(at).Sub(now)
		}
	}
	return 24 * time.Hour
}

func hour(at time.Time) int64 { return at.Unix() / 3600 }

// expires is when the requests of an hour no longer count.
func expires(hour int64) time.Time { return time.Unix((hour+25)*3600, 0) }
