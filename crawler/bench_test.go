package crawler

import (
	"testing"
	"time"

	"curtsy/crawler/host"
	"curtsy/crawler/totals"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// someNotes are those on a host in the middle of a crawl.
func someNotes(tb testing.TB) host.State {
	tb.Helper()
	u, err := canon.Parse("http://h.test/viewtopic.php?t=17")
	if err != nil {
		tb.Fatal(err)
	}
	const id = "urn:uuid:00112233-4455-6677-8899-aabbccddeeff"
	n := host.State{LastEnd: 1e15, Pages: 17, Run: 3, Due: host.Pace{Pause: time.Second, By: storage.ByFloor}, Source: host.Source{Record: id, Body: id, BodyAt: 1e15}}
	for range 7 {
		n.Hear(20 * time.Millisecond)
	}
	var h trap.History
	h.Turn(u)
	n.History = h.Append(nil)
	return n
}

// Each turn reads the notes on its host and writes them: into what there is, and with no more than the two ids as strings.
func TestNotes_TakeNoMemoryButForTheirIDs(t *testing.T) {
	n := someNotes(t)
	kept := n.Append(nil)
	if got := testing.AllocsPerRun(100, func() { kept = n.Append(kept[:0]) }); got != 0 {
		t.Errorf("written: %v allocations", got)
	}
	if got := testing.AllocsPerRun(100, func() {
		if _, err := host.Read(kept); err != nil {
			t.Fatal(err)
		}
	}); got > 2 {
		t.Errorf("read: %v allocations", got)
	}
}

// A paper that was used holds on to nothing, and what is written on it next takes no memory.
func TestPaper_IsBlankWhenItIsUsedAgain(t *testing.T) {
	p := newPapers().New().(*paper)
	var turn frontier.Turn
	fill := func(n int) {
		r := p.begin(turn)
		if len(r.Found)+len(r.Counts) > 0 {
			t.Fatalf("it begins with %+v", r)
		}
		for range n {
			r.Found = append(r.Found, frontier.Candidate{Via: "http://h.test/"})
		}
		r.Counts[totals.Pages]++
		p.wipe(r)
	}
	fill(maxPaper)
	for _, c := range p.found[:cap(p.found)] {
		if c != (frontier.Candidate{}) {
			t.Fatalf("it holds on to %+v", c)
		}
	}
	if got := testing.AllocsPerRun(100, func() { fill(40) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
	if fill(maxPaper + 1); p.found != nil {
		t.Errorf("room for %d candidates stays", cap(p.found))
	}
}

func BenchmarkNotes(b *testing.B) {
	n := someNotes(b)
	kept := n.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		n, err := host.Read(kept)
		if err != nil {
			b.Fatal(err)
		}
		kept = n.Append(kept[:0])
	}
}
