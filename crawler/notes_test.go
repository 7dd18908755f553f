package crawler

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
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
			due:    pace{time.Duration(rng.Int64N(1e12)) * time.Microsecond, paceWords[rng.IntN(len(paceWords))]},
			source: policySource{record: someID(rng), body: someID(rng), bodyAt: rng.Int64()},
			lost:   rng.IntN(2) == 1,
			spot:   []netip.Prefix{{}, spotOf(netip.MustParseAddr("192.0.2.9")), spotOf(netip.MustParseAddr("2001:db8:1:2:3::4"))}[rng.IntN(3)],
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

// someID is an id of a record: none, a UUID as storage/warc writes them, or another one.
func someID(rng *rand.Rand) string {
	switch rng.IntN(3) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("record %d", rng.Uint32())
	}
	x := fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64())
	return urnUUID + x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// An id that cannot be kept as it is, is not kept in part.
func TestNotes_AnIDOfARecordIsKeptExactlyOrNotAtAll(t *testing.T) {
	for _, id := range []string{
		"urn:uuid:00112233-4455-6677-8899-AABBCCDDEEFF", "urn:uuid:00112233445566778899aabbccddeeff", "urn:uuid:", "urn:uuid:0",
		"x", strings.Repeat("x", maxID), strings.Repeat("x", maxID+1), "urn:uuid:00112233-4455-6677-8899-aabbccddeeff", "",
	} {
		if got := unpackID(packID(nil, id)); got != id && (got != "" || len(id) <= maxID) {
			t.Errorf("%q came back as %q", id, got)
		}
	}
}

func TestTheLongestNotesAreNoMoreThanAFrontierKeeps(t *testing.T) {
	const most, least = math.MaxUint64, math.MinInt64
	n := notes{
		next: most, lastEnd: least, failures: most, throttles: most, refusals: most, pages: most, run: most, parks: most,
		unknown: most, spaced: most, spacedUntil: least, provedAt: least, history: make([]byte, maxHistory),
		due:    pace{-1, byRobots},
		source: policySource{record: strings.Repeat("x", maxID), body: strings.Repeat("x", maxID), bodyAt: least},
		lost:   true,
		spot:   spotOf(netip.MustParseAddr("2001:db8::1")),
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
	for _, version := range []byte{0, notesVersion + 1} {
		if _, err := readNotes(append([]byte{version}, b[1:]...)); err == nil {
			t.Fatalf("notes of version %d were read", version)
		}
	}
}

// The octets are those that the second version wrote.
func TestNotesOfTheSecondVersionAreRead(t *testing.T) {
	b := []byte{2, 0x88, 0x27, 0, 0, 0, 0, 100, 1, 2, 3, 4, 5, 1, 6, 1, 0, 1, 1, 9, 1, 20, 40, 2, 7, 8}
	n, err := readNotes(b)
	want := notes{
		responses: [5]time.Duration{5 * time.Millisecond}, lastEnd: 50, next: 1, failures: 2, throttles: 3, refusals: 4,
		pages: 5, forbidden: true, run: 6, parks: 1, unknown: 1, pageFailed: true, spaced: 9, proved: true, spacedUntil: 10,
		provedAt: 20, history: []byte{7, 8},
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
}

// The numbers stand on disk: a word that comes later comes behind.
func TestNotes_TheNumbersOfThoseWhoAskForAPaceAreStable(t *testing.T) {
	want := []string{"", "floor", "crawl-delay", "request-rate", "response time", "address", "ratelimit", "retry-after", "errors", "robots.txt"}
	if len(paceWords) < len(want) || !slices.Equal(paceWords[:len(want)], want) {
		t.Errorf("%q", paceWords)
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
	n.due = pace{time.Hour, byErrors}
	if n.begin(3, 40); n.lastEnd != 40 || n.parks != 1 || n.due != (pace{}) {
		t.Fatalf("%+v", n)
	}
}
