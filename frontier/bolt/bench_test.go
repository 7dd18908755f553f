package bolt

import (
	"flag"
	"runtime"
)

// The sizes of the benchmarks and of TestFigures. For the figures of a large crawl: -seen 10000000 -hosts 100000.
var (
	benchSeen  = flag.Int("seen", 100_000, "URLs seen before a benchmark begins")
	benchHosts = flag.Int("hosts", 1_000, "hosts of a benchmark")
)

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
