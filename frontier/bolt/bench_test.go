package bolt

import (
	"flag"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// The sizes of the benchmarks and of TestFigures. For the figures of a large crawl: -seen 10000000 -hosts 100000.
var (
	benchSeen  = flag.Int("seen", 100_000, "URLs seen before a benchmark begins")
	benchHosts = flag.Int("hosts", 1_000, "hosts of a benchmark")
)

// benchLoad returns a frontier that has seen -seen URLs, half of them closed, with a load on it.
func benchLoad(b *testing.B) *load {
	f := opened(b, filepath.Join(b.TempDir(), "frontier.db"))
	b.Cleanup(func() { f.Close() })
	l := &load{TB: b, f: f, web: &web{hosts: *benchHosts}, seen: *benchSeen, turns: 1, tasks: 1, wait: time.Microsecond}
	l.fill()
	l.closeHalf()
	return l
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
