package bolt

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// The sizes of the benchmarks. For the figures of a large crawl: -seen 10000000 -hosts 100000.
var (
	benchSeen  = flag.Int("seen", 100_000, "URLs seen before a benchmark begins")
	benchHosts = flag.Int("hosts", 1_000, "hosts of a benchmark")
)

// web generates URLs of about 70 octets, as many as one likes, always the same for the same seed.
type web struct {
	r    *rand.Rand
	zipf *rand.Zipf

	host, page string
}

func newWeb(hosts int) *web {
	r := rand.New(rand.NewPCG(1, 2))
	return &web{r: r, zipf: rand.NewZipf(r, 1.1, 50, uint64(hosts-1))}
}

// link returns URL number n: of each two, the links of one page of their host.
func (w *web) link(tb testing.TB, n int) frontier.Candidate {
	if n%2 == 0 || w.page == "" {
		w.host = fmt.Sprintf("https://www.site-%06d.example", w.zipf.Uint64())
		w.page = w.url(n)
	}
	u, err := canon.Parse(w.url(n))
	if err != nil {
		tb.Fatal(err)
	}
	return frontier.Candidate{URL: u, Kind: frontier.KindLink, Depth: 3, Seed: w.host + "/", Tag: "bench", Via: w.page}
}

func (w *web) url(n int) string {
	words := [...]string{"news", "article", "products", "category", "library", "archive", "images", "forum", "thread", "2025"}
	word := func() string { return words[w.r.IntN(len(words))] }
	return fmt.Sprintf("%s/%s/%s/%s-%s-%d.html", w.host, word(), word(), word(), word(), n)
}

// benchFrontier opens a frontier that has seen the given number of URLs, and returns some of them.
func benchFrontier(b *testing.B, w *web, seen int) (*Frontier, []frontier.Candidate) {
	path := filepath.Join(b.TempDir(), "frontier.db")
	f, err := Open(path, frontier.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	var known []frontier.Candidate
	for n := 0; n < seen; {
		cs := make([]frontier.Candidate, 0, 1<<14)
		for ; n < seen && len(cs) < cap(cs); n++ {
			cs = append(cs, w.link(b, n))
		}
		if _, err := f.Add(b.Context(), cs); err != nil {
			b.Fatal(err)
		}
		if len(known) < 1<<18 {
			known = append(known, cs...)
		}
	}
	return f, known
}

// BenchmarkPage is one page of 40 links of which 2 are new: claimed, and finished with them.
func BenchmarkPage(b *testing.B) {
	for _, turns := range []int{1, 32} {
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) { benchPages(b, turns) })
	}
}

func benchPages(b *testing.B, turns int) {
	const links, fresh = 40, 2
	w := newWeb(*benchHosts)
	f, known := benchFrontier(b, w, *benchSeen)
	found := make([]frontier.Candidate, fresh*b.N)
	for i := range found {
		found[i] = w.link(b, *benchSeen+i)
	}
	before, start := written(f), time.Now()
	b.ResetTimer()
	for done := 0; done < b.N; {
		c, err := f.Claim(context.Background(), frontier.Want{Hosts: min(turns, b.N-done), MaxWait: frontier.Never})
		if err != nil {
			b.Fatal(err)
		}
		rs := make([]frontier.Result, len(c.Turns))
		for i, t := range c.Turns {
			r := frontier.Result{Authority: t.Authority, Token: t.Token, Wait: time.Microsecond}
			r.Done = []frontier.Done{{Print: t.Tasks[0].Print, Outcome: frontier.Fetched}}
			r.Found = make([]frontier.Candidate, 0, links)
			r.Found = append(r.Found, found[fresh*done:fresh*(done+1)]...)
			for range links - fresh {
				r.Found = append(r.Found, known[w.r.IntN(len(known))])
			}
			rs[i] = r
			done++
		}
		if _, err := f.Finish(context.Background(), rs); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	pages := float64(b.N)
	b.ReportMetric(pages*links/time.Since(start).Seconds(), "links/s")
	b.ReportMetric(float64(written(f)-before)/pages, "written-B/page")
}

// written returns the octets of pages that commits have written so far.
func written(f *Frontier) int64 {
	s := f.db.Stats().TxStats
	return s.GetPageAlloc()
}

// BenchmarkOpen is a reopen, warm. It reports what a seen URL costs on disk and, live, in RAM.
func BenchmarkOpen(b *testing.B) {
	f, _ := benchFrontier(b, newWeb(*benchHosts), *benchSeen)
	path := f.path
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
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
	b.ReportMetric(float64(info.Size())/float64(*benchSeen), "disk-B/URL")
	b.ReportMetric(float64(heap)/float64(*benchSeen), "heap-B/URL")
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
