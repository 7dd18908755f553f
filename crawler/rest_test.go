package crawler

import (
	"net/http"
	"testing"
	"time"

	"curtsy/frontier"
)

// step is one exchange and what it must mean for the host.
type step struct {
	a     answer
	asked time.Duration // Retry-After; negative means none
	wait  time.Duration
	in    frontier.Condition
}

// rests plays steps against one host at a pace of one second.
func rests(t *testing.T, steps []step) {
	t.Helper()
	var n notes
	for i, s := range steps {
		r := n.after(said{answer: s.a, why: "why", after: after{given: s.asked >= 0, wait: max(s.asked, 0)}}, time.Second)
		if r.wait != s.wait || r.condition != s.in {
			t.Fatalf("exchange %d (%v): waits %v in condition %d, want %v in %d", i+1, s.a, r.wait, r.condition, s.wait, s.in)
		}
		if (r.condition != frontier.Open) != (r.reason != "") {
			t.Fatalf("exchange %d: condition %d with reason %q", i+1, r.condition, r.reason)
		}
	}
}

const none = -1

func TestRule12_ServerErrors(t *testing.T) {
	s, m := time.Second, time.Minute
	rests(t, []step{
		{broken, none, 30 * s, frontier.Parked},
		{answered, none, 1 * s, frontier.Open},
		{broken, none, 30 * s, frontier.Parked},
		{broken, none, 1 * m, frontier.Parked},
		{broken, none, 2 * m, frontier.Parked},
		{broken, none, 4 * m, frontier.Parked},
		{broken, none, 60 * m, frontier.Parked}, // five in a row
		{gone, none, 1 * s, frontier.Open},
	})
}

func TestRule12_NetworkErrors(t *testing.T) {
	m := time.Minute
	var steps []step
	for i, wait := range []time.Duration{1, 2, 4, 8, 60, 32, 60, 60, 60, 60, 60, 60, 60, 60, 60} {
		in := frontier.Parked
		if i == 14 {
			in = frontier.Retired // the third park of the run
		}
		steps = append(steps, step{unreachable, none, wait * m, in})
	}
	rests(t, steps)
}

func TestRule12_EachFailureCostsAtLeastThePace(t *testing.T) {
	for _, a := range []answer{broken, unreachable, nowhere, throttled} {
		var n notes
		if r := n.after(said{answer: a, why: "why"}, 7*time.Hour); r.wait != 7*time.Hour {
			t.Errorf("answer %d: waits %v", a, r.wait)
		}
	}
}

func TestRule12_NXDOMAINTwiceEndsTheRunForTheHost(t *testing.T) {
	rests(t, []step{
		{nowhere, none, time.Minute, frontier.Parked},
		{nowhere, none, 2 * time.Minute, frontier.Retired},
	})
}

func TestRule12_OurOwnLimitsNeverCount(t *testing.T) {
	rests(t, []step{
		{broken, none, 30 * time.Second, frontier.Parked},
		{unwanted, none, time.Second, frontier.Open},
		{broken, none, 30 * time.Second, frontier.Parked},
		{guarded, none, time.Second, frontier.Open},  // nobody was asked, so nobody answered:
		{broken, none, time.Minute, frontier.Parked}, // this is the second in a row
		{useless, none, time.Second, frontier.Open},  // and that an answer
		{broken, none, 30 * time.Second, frontier.Parked},
	})
}

// A site may answer robots.txt from a cache while its pages fail.
func TestRule12_RobotsFailuresCountLikewiseAndItsAnswersEndNoRowOfPages(t *testing.T) {
	var n notes
	for i, x := range []struct {
		a      answer
		robots bool
		row    uint64
	}{
		{unreachable, true, 1}, {unreachable, true, 2}, {answered, true, 0}, // of robots.txt alone: its answer ends it
		{unreachable, true, 1}, {unreachable, false, 2}, {answered, true, 2}, {unreachable, false, 3}, {answered, false, 0},
		{broken, true, 1}, {answered, true, 0},
	} {
		n.after(said{answer: x.a, why: "why", robots: x.robots}, time.Second)
		if x.robots && x.a == answered {
			n.mended(true) // as policyOver says of a policy that was had
		}
		if n.failures != x.row {
			t.Fatalf("exchange %d: %d in a row, want %d", i+1, n.failures, x.row)
		}
	}
}

// A rest of rule 12 is not shortened by a Retry-After that is earlier; robots.txt may bring one with any answer.
func TestRule11_RetryAfterLengthensOtherRests(t *testing.T) {
	s, h := time.Second, time.Hour
	rests(t, []step{
		{broken, 5 * s, 30 * s, frontier.Parked},
		{broken, 3 * h, 3 * h, frontier.Parked},
		{answered, 25 * h, 25 * h, frontier.Retired},
		{answered, 0, 1 * s, frontier.Open},
	})
}

func TestRule11_WithoutRetryAfter(t *testing.T) {
	m := time.Minute
	rests(t, []step{
		{throttled, none, 1 * m, frontier.Parked},
		{throttled, none, 2 * m, frontier.Parked},
		{answered, none, time.Second, frontier.Open},
		{throttled, none, 1 * m, frontier.Parked},
		{throttled, none, 2 * m, frontier.Parked},
		{throttled, none, 4 * m, frontier.Parked},
		{throttled, none, 8 * m, frontier.Parked},
		{throttled, none, 16 * m, frontier.Parked},
		{throttled, none, 32 * m, frontier.Parked},
		{throttled, none, 60 * m, frontier.Parked},
		{throttled, none, 60 * m, frontier.Parked},
		{throttled, none, 60 * m, frontier.Parked},
		{throttled, none, 60 * m, frontier.Refused}, // rule 13: the tenth park period in a row
	})
}

func TestRule11_RetryAfterIsNeverShortened(t *testing.T) {
	s, h := time.Second, time.Hour
	rests(t, []step{
		{throttled, 5 * s, 5 * s, frontier.Parked},
		{throttled, 0, 1 * s, frontier.Parked}, // never below the pace
		{throttled, 3 * h, 3 * h, frontier.Parked},
		{throttled, 24 * h, 24 * h, frontier.Parked},
		{throttled, 24*h + s, 24*h + s, frontier.Retired}, // leaves this run; the next one obeys what is left
		{redirected, 90 * s, 90 * s, frontier.Parked},
	})
}

// A host of many pages that says 429 now and then is not one that says no.
func TestRule13_TenParkPeriodsAreTenInARow(t *testing.T) {
	var n notes
	play := func(a answer, robots bool) frontier.Condition {
		return n.after(said{answer: a, why: "status 429", robots: robots}, time.Second).condition
	}
	for i := range 40_000 {
		a := answered
		if i%3000 < 9 { // nine in a row, fourteen times
			a = throttled
		}
		if c := play(a, false); c > frontier.Parked {
			t.Fatalf("exchange %d: condition %d", i, c)
		}
	}
	for i := range 10 {
		c := play(throttled, false)
		if (c == frontier.Refused) != (i == 9) {
			t.Fatalf("the %dth in a row: condition %d", i+1, c)
		}
		// Neither of these is an answer to what was refused.
		play(unreachable, false)
		play(answered, true)
	}
}

func TestRule13_TenRefusalsInARow(t *testing.T) {
	var steps []step
	for range 9 {
		steps = append(steps, step{refused, none, time.Second, frontier.Open})
	}
	rests(t, append(steps, step{refused, none, time.Second, frontier.Refused}))
	steps = append(steps, step{gone, none, time.Second, frontier.Open}) // not in a row
	for range 9 {
		steps = append(steps, step{refused, none, time.Second, frontier.Open})
	}
	rests(t, steps)
}

func TestRule11_RetryAfterField(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s, odd := func(d time.Duration) after { return after{true, d, false} }, after{true, day, true}
	for _, tt := range []struct {
		fields []string
		want   after
	}{
		{nil, after{}},
		{[]string{""}, after{}},
		{[]string{"120"}, s(120 * time.Second)},
		{[]string{" 7 "}, s(7 * time.Second)},
		{[]string{"0"}, s(0)},
		{[]string{"Sun, 01 Mar 2026 12:01:00 GMT"}, s(time.Minute)},
		{[]string{"Sunday, 01-Mar-26 12:01:00 GMT"}, s(time.Minute)}, // RFC 850 form
		{[]string{"Sun Mar  1 12:01:00 2026"}, s(time.Minute)},       // asctime form
		{[]string{"Sun, 01 Mar 2026 11:00:00 GMT"}, s(0)},            // past
		{[]string{"soon"}, odd},
		{[]string{"-5"}, odd},
		{[]string{"+5"}, odd},
		{[]string{"1.5"}, odd},
		{[]string{"86401"}, s(day + time.Second)},
		{[]string{"31536000"}, s(365 * day)},
		{[]string{"31536001"}, odd},
		{[]string{"999999999"}, odd},
		{[]string{"999999999999999999999"}, odd},
		{[]string{"Fri, 01 Mar 2030 12:00:00 GMT"}, odd},
		{[]string{"5", "9", "7"}, s(9 * time.Second)},
		{[]string{"5", "later"}, odd},
	} {
		h := http.Header{"Retry-After": tt.fields}
		if got := retryAfter(h, now); got != tt.want {
			t.Errorf("Retry-After: %q: %+v; want %+v", tt.fields, got, tt.want)
		}
	}
}
