// This file sets the garbage collector for a crawl.
//
// What a crawl allocates is garbage soon: a page's tree lives for a millisecond. Collected at every doubling of what
// lives (GOGC=100), it takes a good part of all processor time. So memory up to --memory-limit is given to save that
// time: the collector waits until the heap has grown to the fivefold, or all of the process comes near the limit.
//
// The limit is soft: the closer what lives comes to it, the more often the collector runs, in vain. A crawl that must hold
// more than two thirds of the limit therefore gets half as much again as it holds. A large page does not raise the limit,
// and many in a row raise the default by a few MiB.

package cli

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"
)

const (
	garbage   = 400 // GOGC
	lookEvery = 500 * time.Millisecond
	looks     = 120 // memory that is alive at so many raises the limit; large pages, one after the other, do not
)

// Tune sets the collector for a crawl. The caller ends it with stop, which puts back what was. Whoever sets GOGC
// or GOMEMLIMIT in the environment, or no limit, has chosen, and nothing is touched.
func Tune(limit int64) (stop func()) {
	if limit <= 0 || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	percent, before := debug.SetGCPercent(garbage), debug.SetMemoryLimit(limit)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		raise(limit, done)
	}()
	return func() {
		close(done)
		<-ended
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(before)
	}
}

// Bound sets the collector for a command that reads what a crawl has: from 48 MiB on it works harder, since documents of
// several megabytes are read. The caller ends it with stop. Whoever sets GOMEMLIMIT has chosen.
func Bound() (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(48 << 20)
	return func() { debug.SetMemoryLimit(before) }
}

// raise keeps the limit at room of what lives until done is closed.
func raise(asked int64, done <-chan struct{}) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	limit := asked
	var last [looks]int64
	for i := 0; ; i = (i + 1) % looks {
		select {
		case <-done:
			return
		case <-ticks.C:
		}
		metrics.Read(live)
		last[i] = int64(live[0].Value.Uint64())
		if want := room(asked, slices.Min(last[:])); want != limit {
			limit = want
			debug.SetMemoryLimit(limit)
		}
	}
}

// room is the limit for a process with so much alive.
func room(asked, live int64) int64 { return max(asked, live+live/2) }
