package crawldir

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// weighing is a context that measures the heap now and then: readers of ledgers check it for each line.
type weighing struct {
	context.Context
	most     uint64 // of the heap that was live
	every, n int
}

func (w *weighing) look() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.most = max(w.most, m.HeapAlloc)
}

func (w *weighing) Err() error {
	if w.n++; w.n%w.every == 0 {
		w.look()
	}
	return w.Context.Err()
}

// vast returns the directory of an ended crawl of many URLs on a thousand hosts.
func vast(t *testing.T, urls int) (dir string) {
	t.Helper()
	dir = created(t, defaults(), "http://127.0.0.1:9/")
	require.NoError(t, os.Remove(in(dir, FrontierName)))
	next, stop := iter.Pull(vastItems(t, urls))
	defer stop()
	err := engine.Import(in(dir, FrontierName), func() (frontier.Item, error) {
		item, ok := next()
		if !ok {
			return item, io.EOF
		}
		return item, nil
	})
	require.NoError(t, err)
	tellURLs(t, dir, urls)
	return dir
}

const vastHosts = 1000

func vastURL(i int) string {
	return fmt.Sprintf("https://www.host-%03d.example/articles/of/a/year/%07d.html", i%vastHosts, i)
}

func vastItems(t *testing.T, urls int) iter.Seq[frontier.Item] {
	return func(yield func(frontier.Item) bool) {
		secret := make([]byte, 32)
		ok := yield(frontier.Item{Head: &frontier.Head{Secret: secret, Openings: 1}}) &&
			yield(frontier.Item{Seed: &frontier.Seed{URL: parsedURL(t, vastURL(0))}})
		for i := 0; ok && i < vastHosts; i++ {
			ok = yield(frontier.Item{Host: &frontier.Host{Authority: parsedURL(t, vastURL(i)).Authority()}})
		}
		for i := 0; ok && i < urls; i++ {
			u := parsedURL(t, vastURL(i))
			e := frontier.Entry{Candidate: frontier.Candidate{URL: u, Kind: frontier.KindLink, Seed: vastURL(0)}, Outcome: frontier.Fetched, Print: frontier.Print(secret, u)}
			ok = yield(frontier.Item{URL: &e})
		}
		if ok {
			yield(frontier.Item{Totals: &frontier.Totals{}})
		}
	}
}

func parsedURL(t *testing.T, s string) canon.URL {
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}

// tellURLs adds a ledger line for each URL: fetched and unchanged.
func tellURLs(t *testing.T, dir string, urls int) {
	t.Helper()
	w, err := ledger.Open(ledger.Options{Dir: in(dir, LedgerName), SegmentSize: 64 << 20})
	require.NoError(t, err)
	for i := range urls {
		at := time.Now()
		l := storage.Line{
			Time: at, URL: vastURL(i), Kind: "link", Decision: "allow", Reason: "no match", Outcome: storage.OutcomeFetched, Attempt: 1, Began: at, Status: 200,
			Record: fmt.Sprintf("urn:uuid:00000000-0000-4000-8000-%012x", i), Change: storage.ChangeUnchanged,
		}
		require.NoError(t, w.Append(t.Context(), l))
	}
	require.NoError(t, w.Close())
}

// updating begins and compares an update, and returns the growth of the live heap in each.
func updating(t *testing.T, urls int) (beginning, comparing uint64) {
	t.Helper()
	dir := vast(t, urls)
	weigh := func() *weighing {
		w := &weighing{Context: t.Context(), every: max(urls/4, 1)}
		w.look()
		return w
	}
	w := weigh()
	base := w.most
	g, err := begin(w, dir, nil, nil, func() error { w.look(); return nil })
	require.NoError(t, err)
	beginning = w.most - base
	tellURLs(t, dir, urls)
	w = weigh()
	base = w.most
	if err := os.MkdirAll(in(dir, SpoolName), 0o700); err != nil { // an open crawl directory has it
		t.Fatal(err)
	}
	c, err := Comparison{
		Generation: g, Complete: true, Past: &Past{Before: g.Began},
		Ledger: in(dir, LedgerName), Spool: in(dir, SpoolName), File: in(dir, ChangesName),
	}.Write(w)
	require.NoError(t, err)
	w.look()
	require.Equalf(t, int64(urls), c.Counts[string(storage.ChangeUnchanged)], "%v, want %d unchanged", c.Counts, urls)
	return beginning, w.most - base
}

// The memory of an update grows only with the open old frontier. CURTSY_LONG=1 tests a million URLs, as in docs/guides/watch.md.
func TestRule21_AnUpdateOfManyURLsTakesBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	counts, each := []int{5_000, 25_000}, uint64(48)
	if os.Getenv("CURTSY_LONG") != "" {
		counts = []int{250_000, 1_000_000}
	}
	var began, compared []uint64
	for _, urls := range counts {
		b, c := updating(t, urls)
		t.Logf("%d URLs: to begin %.1f MiB, to compare %.1f MiB", urls, float64(b)/(1<<20), float64(c)/(1<<20))
		began, compared = append(began, b), append(compared, c)
	}
	more := uint64(counts[1] - counts[0])
	assert.LessOrEqualf(t, began[1], began[0]+each*more, "to begin: %d octets for %d URLs", began, counts)
	most := uint64(3 * SortedMemory)
	assert.Truef(t, slices.Max(compared) <= most, "to compare: %d octets for %d URLs, more than %d", compared, counts, most)
}
