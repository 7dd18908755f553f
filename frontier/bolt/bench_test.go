package bolt

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"curtsy/frontier"
)

// The sizes of the benchmarks and of TestFigures. For the figures of a large crawl: -seen 10000000 -hosts 100000.
var (
	benchSeen  = flag.Int("seen", 100_000, "URLs seen before a benchmark begins")
	benchHosts = flag.Int("hosts", 1_000, "hosts of a benchmark")
)

// benchLoad returns a frontier that has seen -seen URLs, half of them closed, with a load on it.
func benchLoad(b *testing.B) *load {
	f, err := Open(filepath.Join(b.TempDir(), "frontier.db"), frontier.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	l := &load{TB: b, f: f, web: &web{hosts: *benchHosts}, seen: *benchSeen, turns: 1, tasks: 1, wait: time.Microsecond}
	l.fill()
	l.closeHalf()
	return l
}

// BenchmarkPage is one page of 40 links of which 2 are new: claimed, and finished with them. The time of an operation
// includes the generator's; the metrics do not.
func BenchmarkPage(b *testing.B) {
	for _, turns := range []int{1, 32} {
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			l := benchLoad(b)
			l.turns = turns
			b.ReportAllocs()
			b.ResetTimer()
			c := l.run(b.N)
			b.StopTimer()
			b.ReportMetric(c.links(), "links/s")
			b.ReportMetric(wall(c), "µs/page")
			b.ReportMetric(cpu(c), "CPU-µs/page")
			b.ReportMetric(c.written(), "written-B/page")
		})
	}
}

// BenchmarkClaim is a Claim of one host, and its end with nothing done.
func BenchmarkClaim(b *testing.B) {
	for _, tasks := range []int{1, 16} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			l := benchLoad(b)
			b.ReportAllocs()
			for b.Loop() {
				c, err := l.f.Claim(context.Background(), frontier.Want{Tasks: tasks, MaxWait: time.Hour})
				if err != nil {
					b.Fatal(err)
				}
				t := c.Turns[0]
				if _, err := l.f.Finish(context.Background(), []frontier.Result{{Authority: t.Authority, Token: t.Token}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen is a reopen, warm. It reports what a seen URL costs on disk and, live, in RAM.
func BenchmarkOpen(b *testing.B) {
	l := benchLoad(b)
	path, disk := l.f.path, diskSize(b, l.f)
	if err := l.f.Close(); err != nil {
		b.Fatal(err)
	}
	before := liveHeap()
	var heap int64
	b.ResetTimer()
	for range b.N {
		f, err := Open(path, frontier.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		heap = liveHeap() - before
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(disk/float64(*benchSeen), "disk-B/URL")
	b.ReportMetric(float64(heap)/float64(*benchSeen), "heap-B/URL")
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
