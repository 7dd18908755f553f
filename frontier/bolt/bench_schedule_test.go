package bolt

import (
	"testing"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// scheduled returns a frontier in RAM, with hosts that have a task and are due a nanosecond apart.
func scheduled(hosts int) *Frontier {
	f := newFrontier("", nil, frontier.Options{})
	for i := range hosts {
		h := &host{id: uint32(i), HostState: layout.HostState{NotBefore: int64(mix(uint64(i)) % uint64(hosts))}}
		h.queue.Push(layout.MakeRef(uint64(i+1), 0))
		f.hosts.all = append(f.hosts.all, h)
		f.scheduler.enter(h, 0)
	}
	return f
}

// rotate takes out the host that is due first, and puts it back behind all others.
func (f *Frontier) rotate() {
	now := int64(time.Hour)
	h := f.scheduler.next(now)
	due, _ := f.scheduler.due.Due(h.id)
	f.leases.claims++
	f.scheduler.due.Served(h.id, f.leases.claims)
	h.NotBefore = due + int64(len(f.hosts.all))
	f.scheduler.enter(h, 0)
}

func (f *figures) schedule() {
	for i, hosts := range []int{100_000, 1_000_000} {
		s := scheduled(hosts)
		var times []float64
		for range *figureRounds {
			start := time.Now()
			for range hosts {
				s.rotate()
			}
			times = append(times, time.Since(start).Seconds()*1e6/float64(hosts))
		}
		f.row("next host taken and put back, µs, of "+short(hosts), "%.2f", medianOf(times), [2]float64{0.3, 0.8}[i], false)
		f.row("allocations of that", "%.0f", testing.AllocsPerRun(1000, s.rotate), 0, false)
	}
}
