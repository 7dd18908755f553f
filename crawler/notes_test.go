package crawler

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
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
			forbidden: rng.IntN(2) == 1, run: rng.Uint64(), parks: rng.Uint64(), unknown: rng.Uint64(),
			pageFailed: rng.IntN(2) == 1, spaced: rng.Uint64(), spacedUntil: rng.Int64() - rng.Int64(),
			proved: rng.IntN(2) == 1, provedAt: rng.Int64(),
		}
		for i := range n.responses {
			n.responses[i] = time.Duration(rng.IntN(1e6)) * time.Microsecond
		}
		if k := rng.IntN(maxHistory + 1); k > 0 {
			n.history = bytes.Repeat([]byte{byte(k)}, k)
		}
		b := n.append(nil)
		if len(b) > frontier.MaxMemory {
			t.Fatalf("%d octets, more than a frontier keeps", len(b))
		}
		got, err := readNotes(b)
		if err != nil || !reflect.DeepEqual(got, n) {
			t.Fatalf("read %+v, %v; wrote %+v", got, err, n)
		}
		for cut := 1; cut < len(b); cut += 1 + cut/100*37 {
			if _, err := readNotes(b[:cut]); err == nil {
				t.Fatalf("notes cut at %d of %d octets were read", cut, len(b))
			}
		}
		if _, err := readNotes(append(b, 0)); err == nil {
			t.Fatal("notes with an octet too many were read")
		}
	}
}

func TestTheLongestNotesAreNoMoreThanAFrontierKeeps(t *testing.T) {
	const most, least = math.MaxUint64, math.MinInt64
	n := notes{
		next: most, lastEnd: least, failures: most, throttles: most, refusals: most, pages: most, run: most, parks: most,
		unknown: most, spaced: most, spacedUntil: least, provedAt: least, history: make([]byte, maxHistory),
	}
	for i := range n.responses {
		n.responses[i] = -1
	}
	if b := n.append(nil); len(b) > frontier.MaxMemory {
		t.Fatalf("%d octets, of which %d are history; a frontier keeps %d", len(b), maxHistory, frontier.MaxMemory)
	}
}

// The octets are those that the first version wrote.
func TestNotesOfTheFirstVersionAreRead(t *testing.T) {
	b := []byte{1, 0x88, 0x27, 0, 0, 0, 0, 100, 1, 2, 3, 4, 5, 1, 6, 1, 9, 1}
	n, err := readNotes(b)
	want := notes{
		responses: [5]time.Duration{5 * time.Millisecond}, lastEnd: 50, next: 1, failures: 2, throttles: 3, refusals: 4,
		pages: 5, forbidden: true, run: 6, parks: 1, unknown: 1,
	}
	if err != nil || !reflect.DeepEqual(n, want) {
		t.Fatalf("%+v, %v; want %+v", n, err, want)
	}
	for cut := 1; cut < len(b); cut++ {
		if _, err := readNotes(b[:cut]); err == nil {
			t.Fatalf("notes cut at %d of %d octets were read", cut, len(b))
		}
	}
	if _, err := readNotes(append(b, 0)); err == nil {
		t.Fatal("notes with an octet too many were read")
	}
	if _, err := readNotes([]byte{3}); err == nil {
		t.Fatal("notes of a later version were read")
	}
}

func TestNotesOfAHostNeverMetAreZero(t *testing.T) {
	if n, err := readNotes(nil); err != nil || !reflect.DeepEqual(n, notes{}) {
		t.Fatalf("%+v, %v", n, err)
	}
}

// Politeness rule 9: the response time is the median of the last five.
func TestRule09_ResponseTimeIsTheMedianOfTheLastFive(t *testing.T) {
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
	n := notes{run: 3, parks: 2, unknown: 1, failures: 4, pages: 7, lastEnd: 50}
	n.begin(4, 60)
	if want := (notes{run: 4, failures: 4, pages: 7, lastEnd: 50}); !reflect.DeepEqual(n, want) {
		t.Fatalf("%+v, want %+v", n, want)
	}
}

func TestRule13_ParkPeriodsOfPagesAreInARowOverRuns(t *testing.T) {
	var n notes
	for i := range uint64(10) {
		n.begin(i, 0)
		r := n.after(said{answer: throttled, why: "status 503"}, time.Second)
		if b, err := readNotes(n.append(nil)); err != nil || !reflect.DeepEqual(b, n) {
			t.Fatal(err)
		}
		if (r.condition == frontier.Refused) != (i == 9) {
			t.Fatalf("run %d: condition %d", i, r.condition)
		}
	}
	n = notes{}
	for i := range uint64(30) {
		n.begin(i, 0)
		if r := n.after(said{answer: throttled, why: "status 503", robots: true}, time.Second); r.condition != frontier.Parked {
			t.Fatalf("an outage of robots.txt, run %d: condition %d", i, r.condition)
		}
	}
}

func TestAWallClockThatWasSetBackMakesNoHostWait(t *testing.T) {
	n := notes{run: 3, lastEnd: 5000, parks: 1}
	if n.begin(3, 40); n.lastEnd != 40 || n.parks != 1 {
		t.Fatalf("%+v", n)
	}
}
