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
		r := n.after(s.a, "why", max(s.asked, 0), s.asked >= 0, time.Second)
		if r.wait != s.wait || r.condition != s.in {
			t.Fatalf("exchange %d (%v): waits %v in condition %d, want %v in %d", i+1, s.a, r.wait, r.condition, s.wait, s.in)
		}
		if (r.condition != frontier.Open) != (r.reason != "") {
			t.Fatalf("exchange %d: condition %d with reason %q", i+1, r.condition, r.reason)
		}
	}
}

const none = -1

// Politeness rule 12, and: a lone failure costs the host twice its pace only.
func TestPoliteness12_ServerErrors(t *testing.T) {
	s, m := time.Second, time.Minute
	rests(t, []step{
		{broken, none, 2 * s, frontier.Open},
		{answered, none, 1 * s, frontier.Open},
		{broken, none, 2 * s, frontier.Open},
		{broken, none, 30 * s, frontier.Parked},
		{broken, none, 1 * m, frontier.Parked},
		{broken, none, 2 * m, frontier.Parked},
		{broken, none, 60 * m, frontier.Parked}, // five in a row
		{gone, none, 1 * s, frontier.Open},
	})
}

func TestPoliteness12_NetworkErrors(t *testing.T) {
	s, m := time.Second, time.Minute
	rests(t, []step{
		{unreachable, none, 2 * s, frontier.Open},
		{unreachable, none, 1 * m, frontier.Parked},
		{unreachable, none, 2 * m, frontier.Parked},
		{unreachable, none, 4 * m, frontier.Parked},
		{unreachable, none, 60 * m, frontier.Parked},
		{unreachable, none, 16 * m, frontier.Parked},
		{unreachable, none, 32 * m, frontier.Parked},
		{unreachable, none, 60 * m, frontier.Parked},
		{unreachable, none, 60 * m, frontier.Parked},
		{unreachable, none, 60 * m, frontier.Parked}, // the second hour of rest
		{unreachable, none, 60 * m, frontier.Parked},
		{unreachable, none, 60 * m, frontier.Parked},
		{unreachable, none, 60 * m, frontier.Parked},
		{unreachable, none, 60 * m, frontier.Parked},
		{unreachable, none, 60 * m, frontier.Retired}, // the third
	})
}

func TestPoliteness12_NXDOMAINTwiceEndsTheRunForTheHost(t *testing.T) {
	rests(t, []step{
		{nowhere, none, 2 * time.Second, frontier.Open},
		{nowhere, none, time.Minute, frontier.Retired},
	})
}

func TestPoliteness12_OurOwnLimitsNeverCount(t *testing.T) {
	rests(t, []step{
		{broken, none, 2 * time.Second, frontier.Open},
		{unwanted, none, time.Second, frontier.Open},
		{broken, none, 2 * time.Second, frontier.Open},
		{guarded, none, time.Second, frontier.Open},
		{broken, none, 2 * time.Second, frontier.Open},
	})
}

func TestPoliteness11_WithoutRetryAfter(t *testing.T) {
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
		{throttled, none, 60 * m, frontier.Refused}, // rule 13: the tenth park period of the run
	})
}

func TestPoliteness11_RetryAfterIsNeverShortened(t *testing.T) {
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

func TestPoliteness13_TenRefusalsInARow(t *testing.T) {
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

func TestPoliteness11_RetryAfterField(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		field string
		want  time.Duration
		ok    bool
	}{
		{"", 0, false},
		{"120", 120 * time.Second, true},
		{" 7 ", 7 * time.Second, true},
		{"0", 0, true},
		{"Sun, 01 Mar 2026 12:01:00 GMT", time.Minute, true},
		{"Sunday, 01-Mar-26 12:01:00 GMT", time.Minute, true}, // RFC 850 form
		{"Sun Mar  1 12:01:00 2026", time.Minute, true},       // asctime form
		{"Sun, 01 Mar 2026 11:00:00 GMT", 0, true},            // past
		{"soon", 24 * time.Hour, true},
		{"-5", 24 * time.Hour, true},
		{"1.5", 24 * time.Hour, true},
		{"31536000", 365 * 24 * time.Hour, true},
		{"31536001", 24 * time.Hour, true},
		{"999999999999999999999", 24 * time.Hour, true},
		{"Fri, 01 Mar 2030 12:00:00 GMT", 24 * time.Hour, true},
	} {
		h := http.Header{}
		if tt.field != "" {
			h.Set("Retry-After", tt.field)
		}
		if d, ok := retryAfter(h, now); d != tt.want || ok != tt.ok {
			t.Errorf("Retry-After: %q: %v, %v; want %v, %v", tt.field, d, ok, tt.want, tt.ok)
		}
	}
}
