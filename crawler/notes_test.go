package crawler

import (
	"math/rand/v2"
	"testing"
	"time"

	"curtsy/frontier"
)

func TestNotesSurviveTheFrontier(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		n := notes{
			next: rng.Uint64(), lastEnd: rng.Int64() - rng.Int64(),
			failures: rng.Uint64(), throttles: rng.Uint64(), refusals: rng.Uint64(), pages: rng.Uint64(),
			forbidden: rng.IntN(2) == 1, run: rng.Uint64(), parks: rng.Uint64(), throttling: rng.Uint64(), unknown: rng.Uint64(),
		}
		for i := range n.responses {
			n.responses[i] = time.Duration(rng.IntN(1e6)) * time.Microsecond
		}
		b := n.append(nil)
		if len(b) > frontier.MaxMemory {
			t.Fatalf("%d octets, more than a frontier keeps", len(b))
		}
		got, err := readNotes(b)
		if err != nil || got != n {
			t.Fatalf("read %+v, %v; wrote %+v", got, err, n)
		}
		for cut := 1; cut < len(b); cut++ {
			if _, err := readNotes(b[:cut]); err == nil {
				t.Fatalf("notes cut at %d of %d octets were read", cut, len(b))
			}
		}
		if _, err := readNotes(append(b, 0)); err == nil {
			t.Fatal("notes with an octet too many were read")
		}
	}
}

func TestNotesOfAHostNeverMetAreZero(t *testing.T) {
	if n, err := readNotes(nil); err != nil || n != (notes{}) {
		t.Fatalf("%+v, %v", n, err)
	}
}

// Politeness rule 9: the response time is the median of the last five.
func TestPoliteness09_ResponseTimeIsTheMedianOfTheLastFive(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		heard []time.Duration
		want  time.Duration
	}{
		{nil, 0},
		{[]time.Duration{7 * ms}, 7 * ms},
		{[]time.Duration{9 * ms, 1 * ms}, 9 * ms}, // of two the larger: never too fast
		{[]time.Duration{9 * ms, 1 * ms, 5 * ms}, 5 * ms},
		{[]time.Duration{1 * ms, 2 * ms, 3 * ms, 4 * ms, 1000 * ms}, 3 * ms},
		{[]time.Duration{900 * ms, 900 * ms, 1 * ms, 2 * ms, 3 * ms, 4 * ms, 5 * ms}, 3 * ms},
		{[]time.Duration{5 * ms, 0, -1}, 5 * ms}, // exchanges without an answer have no response time
	} {
		var n notes
		for _, d := range tt.heard {
			n.heard(d)
		}
		if got := n.response(); got != tt.want {
			t.Errorf("after %v: %v, want %v", tt.heard, got, tt.want)
		}
	}
}

func TestNotesOfAnEarlierRunDoNotRetireAHost(t *testing.T) {
	n := notes{run: 3, parks: 2, throttling: 9, unknown: 1, failures: 4, pages: 7, lastEnd: 50}
	n.begin(4, 60)
	if want := (notes{run: 4, failures: 4, pages: 7, lastEnd: 50}); n != want {
		t.Fatalf("%+v, want %+v", n, want)
	}
}

func TestAWallClockThatWasSetBackMakesNoHostWait(t *testing.T) {
	n := notes{run: 3, lastEnd: 5000, parks: 1}
	if n.begin(3, 40); n.lastEnd != 40 || n.parks != 1 {
		t.Fatalf("%+v", n)
	}
}
