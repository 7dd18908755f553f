package crawldir

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/sorted"
)

// heapWatch is a writer that counts lines and keeps the most of the heap that was live.
type heapWatch struct {
	lines, wrong int
	last, line   []byte
	most         uint64
}

func (h *heapWatch) look() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.most = max(h.most, m.HeapAlloc)
}

func (h *heapWatch) Write(b []byte) (int, error) {
	for part := range bytes.Lines(b) {
		if h.line = append(h.line, part...); part[len(part)-1] != '\n' {
			break // it goes on in the next call
		}
		if bytes.Compare(h.line, h.last) <= 0 {
			h.wrong++
		}
		h.last, h.line = h.line, h.last[:0]
		if h.lines++; h.lines%100_000 == 0 {
			h.look()
		}
	}
	return len(b), nil
}

// Comparing two generations takes no more memory the larger they are: a million URLs with CURTSY_LONG=1, else 200,000.
func TestRule21_ComparingTakesBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	n := 200_000
	if os.Getenv("CURTSY_LONG") != "" {
		n = 1_000_000
	}
	var w heapWatch
	w.look()
	base := w.most
	dir := t.TempDir()
	s := sorted.New(dir, SortedMemory)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2 * n {
		l := storage.Line{
			Time: time.UnixMicro(int64(i)), URL: fmt.Sprintf("https://host-%d.example/%0100d", random.IntN(1000), i%n),
			Outcome: storage.OutcomeFetched, Change: "unchanged", Status: 304, Record: "urn:uuid:f8cbf0ac-08d3-423e-95b5-47daa4a8f039",
		}
		if err := addOutcome(s, &l, i >= n, int64(i)); err != nil {
			t.Fatal(err)
		}
		if i%100_000 == 0 {
			w.look()
		}
	}
	for line, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if w.lines != 2*n || w.wrong > 0 {
		t.Errorf("%d lines of %d, %d out of order", w.lines, 2*n, w.wrong)
	}
	if most := (w.most - base) >> 20; most > 48 {
		t.Errorf("%d URLs took %d MiB", n, most)
	} else {
		t.Logf("%d URLs took %d MiB", n, most)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
