package host

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

// step is one exchange and its required meaning for the host.
type step struct {
	a     Answer
	asked time.Duration // Retry-After; negative means none
	wait  time.Duration
	in    frontier.Condition
}

// rests plays steps against one host at a pace of one second.
func rests(t *testing.T, steps []step) {
	t.Helper()
	var n State
	for i, s := range steps {
		r := n.after(Signal{Answer: s.a, Why: "why", RetryAfter: RetryAfter{Given: s.asked >= 0, Wait: max(s.asked, 0)}}, time.Second)
		if r.Wait != s.wait || r.Condition != s.in {
			t.Fatalf("exchange %d (%v): waits %v in condition %d, want %v in %d", i+1, s.a, r.Wait, r.Condition, s.wait, s.in)
		}
		require.Equalf(t, (r.Reason != ""), (r.Condition != frontier.Open), "exchange %d: condition %d with reason %q", i+1, r.Condition, r.Reason)
	}
}

const none = -1

func TestRule12_ServerErrors(t *testing.T) {
	s, m := time.Second, time.Minute
	rests(t, []step{
		{Broken, none, 30 * s, frontier.Parked},
		{Answered, none, 1 * s, frontier.Open},
		{Broken, none, 30 * s, frontier.Parked},
		{Broken, none, 1 * m, frontier.Parked},
		{Broken, none, 2 * m, frontier.Parked},
		{Broken, none, 4 * m, frontier.Parked},
		{Broken, none, 60 * m, frontier.Parked}, // five in a row
		{Gone, none, 1 * s, frontier.Open},
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
		steps = append(steps, step{Unreachable, none, wait * m, in})
	}
	rests(t, steps)
}

func TestRule12_EachFailureCostsAtLeastThePace(t *testing.T) {
	for _, a := range []Answer{Broken, Unreachable, Nowhere, Throttled} {
		var n State
		assert.Equalf(t, 7*time.Hour, n.after(Signal{Answer: a, Why: "why"}, 7*time.Hour).Wait, "answer %d: the wait", a)
	}
}

func TestRule12_NXDOMAINTwiceEndsTheRunForTheHost(t *testing.T) {
	rests(t, []step{
		{Nowhere, none, time.Minute, frontier.Parked},
		{Nowhere, none, 2 * time.Minute, frontier.Retired},
	})
}

func TestRule12_OwnLimitsNeverCount(t *testing.T) {
	rests(t, []step{
		{Broken, none, 30 * time.Second, frontier.Parked},
		{Unwanted, none, time.Second, frontier.Open},
		{Broken, none, 30 * time.Second, frontier.Parked},
		{Guarded, none, time.Second, frontier.Open},  // no request was sent, so no host responded:
		{Broken, none, time.Minute, frontier.Parked}, // this is the second in a row
		{Useless, none, time.Second, frontier.Open},  // and this is a response
		{Broken, none, 30 * time.Second, frontier.Parked},
	})
}

// A site may serve robots.txt from a cache while its pages fail.
func TestRule12_RobotsResponsesKeepPageFailures(t *testing.T) {
	var n State
	for i, x := range []struct {
		a      Answer
		robots bool
		row    uint64
	}{
		{Unreachable, true, 1}, {Unreachable, true, 2}, {Answered, true, 0}, // of robots.txt only: its response ends them
		{Unreachable, true, 1}, {Unreachable, false, 2}, {Answered, true, 2}, {Unreachable, false, 3}, {Answered, false, 0},
		{Broken, true, 1}, {Answered, true, 0},
	} {
		n.after(Signal{Answer: x.a, Why: "why", Robots: x.robots}, time.Second)
		if x.robots && x.a == Answered {
			n.endFailures(true) // as policyOver does for a valid policy
		}
		require.Equalf(t, x.row, n.Failures, "exchange %d: %d in a row, want %d", i+1, n.Failures, x.row)
	}
}

// A Retry-After does not shorten a back-off of rule 12, and may come with any response for robots.txt.
func TestRule11_RetryAfterLengthensOtherRests(t *testing.T) {
	s, h := time.Second, time.Hour
	rests(t, []step{
		{Broken, 5 * s, 30 * s, frontier.Parked},
		{Broken, 3 * h, 3 * h, frontier.Parked},
		{Answered, 25 * h, 25 * h, frontier.Retired},
		{Answered, 0, 1 * s, frontier.Open},
	})
}

func TestRule11_WithoutRetryAfter(t *testing.T) {
	m := time.Minute
	rests(t, []step{
		{Throttled, none, 1 * m, frontier.Parked},
		{Throttled, none, 2 * m, frontier.Parked},
		{Answered, none, time.Second, frontier.Open},
		{Throttled, none, 1 * m, frontier.Parked},
		{Throttled, none, 2 * m, frontier.Parked},
		{Throttled, none, 4 * m, frontier.Parked},
		{Throttled, none, 8 * m, frontier.Parked},
		{Throttled, none, 16 * m, frontier.Parked},
		{Throttled, none, 32 * m, frontier.Parked},
		{Throttled, none, 60 * m, frontier.Parked},
		{Throttled, none, 60 * m, frontier.Parked},
		{Throttled, none, 60 * m, frontier.Parked},
		{Throttled, none, 60 * m, frontier.Refused}, // rule 13: the tenth park period in a row
	})
}

func TestRule11_RetryAfterIsNeverShortened(t *testing.T) {
	s, h := time.Second, time.Hour
	rests(t, []step{
		{Throttled, 5 * s, 5 * s, frontier.Parked},
		{Throttled, 0, 1 * s, frontier.Parked}, // never below the pace
		{Throttled, 3 * h, 3 * h, frontier.Parked},
		{Throttled, 24 * h, 24 * h, frontier.Parked},
		{Throttled, 24*h + s, 24*h + s, frontier.Retired}, // leaves this run; the next one obeys the rest
		{Redirected, 90 * s, 90 * s, frontier.Parked},
	})
}

// A host of many pages with a 429 now and then is not retired.
func TestRule13_TenParkPeriodsAreTenInARow(t *testing.T) {
	var n State
	play := func(a Answer, robots bool) frontier.Condition {
		return n.after(Signal{Answer: a, Why: "status 429", Robots: robots}, time.Second).Condition
	}
	for i := range 40_000 {
		a := Answered
		if i%3000 < 9 { // nine in a row, fourteen times
			a = Throttled
		}
		require.LessOrEqualf(t, play(a, false), frontier.Parked, "exchange %d: condition", i)
	}
	for i := range 10 {
		c := play(Throttled, false)
		require.Equalf(t, (i == 9), (c == frontier.Refused), "the %dth in a row: condition %d", i+1, c)
		// Neither of these is a response to a refused request.
		play(Unreachable, false)
		play(Answered, true)
	}
}

func TestRule13_TenRefusalsInARow(t *testing.T) {
	var steps []step
	for range 9 {
		steps = append(steps, step{Refused, none, time.Second, frontier.Open})
	}
	rests(t, append(steps, step{Refused, none, time.Second, frontier.Refused}))
	steps = append(steps, step{Gone, none, time.Second, frontier.Open}) // not in a row
	for range 9 {
		steps = append(steps, step{Refused, none, time.Second, frontier.Open})
	}
	rests(t, steps)
}

func TestRule11_RetryAfterField(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s, odd := func(d time.Duration) RetryAfter { return RetryAfter{true, d, false} }, RetryAfter{true, Day, true}
	for _, tt := range []struct {
		fields []string
		want   RetryAfter
	}{
		{nil, RetryAfter{}},
		{[]string{""}, RetryAfter{}},
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
		{[]string{"86401"}, s(Day + time.Second)},
		{[]string{"31536000"}, s(365 * Day)},
		{[]string{"31536001"}, odd},
		{[]string{"999999999"}, odd},
		{[]string{"999999999999999999999"}, odd},
		{[]string{"Fri, 01 Mar 2030 12:00:00 GMT"}, odd},
		{[]string{"5", "9", "7"}, s(9 * time.Second)},
		{[]string{"5", "later"}, odd},
	} {
		h := http.Header{"Retry-After": tt.fields}
		assert.Equalf(t, tt.want, ReadRetryAfter(h, now), "Retry-After: %q", tt.fields)
	}
}
