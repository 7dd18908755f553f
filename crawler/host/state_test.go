package host

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/storage"
)

func TestNotesSurviveTheFrontier(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		n := State{
			heard: rng.Uint64(), LastEnd: rng.Int64() - rng.Int64(),
			Failures: rng.Uint64(), Throttles: rng.Uint64(), Refusals: rng.Uint64(), Pages: rng.Uint64(), Sitemaps: rng.Uint64() >> 1,
			Forbidden: rng.IntN(2) == 1, Run: rng.Uint64(), Parks: rng.Uint64(), Unknown: rng.Uint64(),
			PageFailed: rng.IntN(2) == 1, Spaced: rng.Uint64(), SpacedUntil: rng.Int64() - rng.Int64(),
			Proved: rng.IntN(2) == 1, ProvedAt: rng.Int64(),
			Due:    Pace{time.Duration(rng.Int64N(1e12)) * time.Microsecond, paceWords[rng.IntN(len(paceWords))]},
			Source: Source{Record: someID(rng), Body: someID(rng), BodyAt: rng.Int64()},
			Lost:   rng.IntN(2) == 1,
			Spot:   []netip.Prefix{{}, netip.MustParsePrefix("192.0.2.9/32"), netip.MustParsePrefix("2001:db8:1:2::/64")}[rng.IntN(3)],
			Hearsay: Hearsay{
				Pace{time.Duration(rng.Int64N(1e12)) * time.Microsecond, paceWords[rng.IntN(len(paceWords))]}, rng.Int64() - rng.Int64(),
			},
		}
		for i := range n.times {
			n.times[i] = time.Duration(rng.IntN(1e6)) * time.Microsecond
		}
		if k := rng.IntN(MaxHistory + 1); k > 0 {
			n.History = bytes.Repeat([]byte{byte(k)}, k)
		}
		b := n.Append(nil)
		require.LessOrEqual(t, len(b), frontier.MaxMemory, "more octets than a frontier keeps")
		got, err := Read(b)
		require.NoError(t, err)
		require.Equalf(t, n, got, "read %+v, %v; wrote %+v", got, err, n)
		for cut := 1; cut < len(b); cut += 1 + cut/100*37 {
			if _, err := Read(b[:cut]); err == nil {
				t.Fatalf("notes cut at %d of %d octets were read", cut, len(b))
			}
		}
		if _, err := Read(append(b, 0)); err == nil {
			t.Fatal("notes with a surplus byte were read")
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
	return "urn:uuid:" + x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

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

func TestState_FitsIntoTheFrontier(t *testing.T) {
	const most, least = math.MaxUint64, math.MinInt64
	n := State{
		heard: most, LastEnd: least, Failures: most, Throttles: most, Refusals: most, Pages: most, Run: most, Parks: most,
		Unknown: most, Spaced: most, SpacedUntil: least, ProvedAt: least, History: make([]byte, MaxHistory),
		Due:    Pace{-1, storage.ByRobots},
		Source: Source{Record: strings.Repeat("x", maxID), Body: strings.Repeat("x", maxID), BodyAt: least},
		Lost:   true,
		Spot:   netip.MustParsePrefix("2001:db8::/64"),

		Hearsay: Hearsay{Pace{-1, storage.ByRobots}, least},
	}
	for i := range n.times {
		n.times[i] = -1
	}
	if b := n.Append(nil); len(b) > frontier.MaxMemory {
		t.Fatalf("%d octets, of which %d are history; a frontier keeps %d", len(b), MaxHistory, frontier.MaxMemory)
	}
}

// Frontiers have these bytes.
func TestTheBytesOfAStateAreStable(t *testing.T) {
	b := []byte{5, 0x88, 0x27, 0, 0, 0, 0, 100, 1, 2, 3, 4, 5, 1, 6, 1, 0, 1, 1, 9, 1, 20, 40, 2, 7, 8, 60, 8, 2, 2, 'r', 0, 0, 1, 4, 192, 0, 2, 9, 70, 3, 60}
	want := State{
		times: [5]time.Duration{5 * time.Millisecond}, LastEnd: 50, heard: 1, Failures: 2, Throttles: 3, Refusals: 4,
		Pages: 5, Forbidden: true, Run: 6, Parks: 1, Unknown: 1, PageFailed: true, Spaced: 9, Proved: true, SpacedUntil: 10,
		ProvedAt: 20, History: []byte{7, 8}, Due: Pace{60 * time.Microsecond, storage.ByErrors}, Source: Source{Record: "r"}, Lost: true,
		Spot: netip.MustParsePrefix("192.0.2.9/32"), Hearsay: Hearsay{Pace{70 * time.Microsecond, storage.ByRequestRate}, 30},
	}
	if got := want.Append(nil); !bytes.Equal(got, b) {
		t.Fatalf("%v, want %v", got, b)
	}
	if got, err := Read(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	for _, other := range []byte{0, 4, 6} {
		if _, err := Read(append([]byte{other}, b[1:]...)); !errors.Is(err, errVersion) {
			t.Errorf("version %d: %v", other, err)
		}
	}
}

// The numbers are stored: new names are appended.
func TestState_NumbersOfDelaySourcesAreStable(t *testing.T) {
	want := []storage.PaceBy{"", "floor", "crawl-delay", "request-rate", "response time", "address", "ratelimit", "retry-after", "errors", "robots.txt", "host setting"}
	if len(paceWords) < len(want) || !slices.Equal(paceWords[:len(want)], want) {
		t.Errorf("%q", paceWords)
	}
}

func TestState_UnknownHostIsZero(t *testing.T) {
	if n, err := Read(nil); err != nil || !reflect.DeepEqual(n, State{}) {
		t.Fatalf("%+v, %v", n, err)
	}
}

// Politeness rule 9.
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
		{[]time.Duration{5 * ms, 0, -1}, 5 * ms}, // exchanges without a response have no response time
	} {
		var n State
		for _, d := range tt.heard {
			n.Hear(d)
		}
		assert.Equalf(t, tt.want, n.Response(), "after %v", tt.heard)
	}
}

func TestRule09_TheResponseTimeTerm(t *testing.T) {
	n := State{}
	n.Hear(20 * time.Second)
	assert.Equal(t, (Pace{Pause: 30 * time.Second, By: storage.ByResponseTime}), (Terms{Floor: time.Second}).Pace(&n, 0), "at most 30 s")
	assert.Equal(t, (Pace{Pause: time.Second, By: storage.ByFloor}), (Terms{Floor: time.Second, Own: true}).Pace(&n, 0), "own hosts are not spared")
}

func TestNotesOfAnEarlierRunDoNotRetireAHost(t *testing.T) {
	n := State{Run: 3, Parks: 2, Unknown: 1, Failures: 4, Pages: 7, LastEnd: 50}
	n.Begin(4, 60)
	if want := (State{Run: 4, Failures: 4, Pages: 7, LastEnd: 50}); !reflect.DeepEqual(n, want) {
		t.Fatalf("%+v, want %+v", n, want)
	}
}

func TestRule13_ParkPeriodsOfPagesAreInARowOverRuns(t *testing.T) {
	var n State
	for i := range uint64(10) {
		n.Begin(i, 0)
		r := n.after(Signal{Answer: Throttled, Why: "status 503"}, time.Second)
		if b, err := Read(n.Append(nil)); err != nil || !reflect.DeepEqual(b, n) {
			t.Fatal(err)
		}
		require.Equalf(t, (i == 9), (r.Condition == frontier.Refused), "run %d: condition %d", i, r.Condition)
	}
	n = State{}
	for i := range uint64(30) {
		n.Begin(i, 0)
		if r := n.after(Signal{Answer: Throttled, Why: "status 503", Robots: true}, time.Second); r.Condition != frontier.Parked {
			t.Fatalf("an outage of robots.txt, run %d: condition %d", i, r.Condition)
		}
	}
}

func TestAWallClockThatWasSetBackMakesNoHostWait(t *testing.T) {
	n := State{Run: 3, LastEnd: 5000, Parks: 1}
	n.Due = Pace{time.Hour, storage.ByErrors}
	if n.Begin(3, 40); n.LastEnd != 40 || n.Parks != 1 || n.Due != (Pace{}) {
		t.Fatalf("%+v", n)
	}
}
