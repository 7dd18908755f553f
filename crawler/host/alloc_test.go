package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/trap"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// someNotes are those on a host in the middle of a crawl.
func someNotes(tb testing.TB) State {
	tb.Helper()
	u, err := canon.Parse("http://h.test/viewtopic.php?t=17")
	require.NoError(tb, err)
	const id = "urn:uuid:00112233-4455-6677-8899-aabbccddeeff"
	n := State{LastEnd: 1e15, Pages: 17, Run: 3, Due: Pace{Pause: time.Second, By: storage.ByFloor}, Source: Source{Record: id, Body: id, BodyAt: 1e15}}
	for range 7 {
		n.Hear(20 * time.Millisecond)
	}
	var h trap.History
	h.Turn(u)
	n.History = h.Append(nil)
	return n
}

func TestState_AllocatesOnlyForIDs(t *testing.T) {
	n := someNotes(t)
	kept := n.Append(nil)
	if got := testing.AllocsPerRun(100, func() { kept = n.Append(kept[:0]) }); got != 0 {
		t.Errorf("written: %v allocations", got)
	}
	if got := testing.AllocsPerRun(100, func() {
		if _, err := Read(kept); err != nil {
			t.Fatal(err)
		}
	}); got > 2 {
		t.Errorf("read: %v allocations", got)
	}
}
