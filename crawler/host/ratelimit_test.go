package host

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/frontier"
)

func TestRule14_TheField(t *testing.T) {
	s := time.Second
	spaced := func(space, until time.Duration) RateLimit { return RateLimit{Given: true, Space: space, Until: until} }
	for _, tt := range []struct {
		field string
		want  RateLimit
	}{
		{`"p";r=10;t=60`, spaced(6*s, 60*s)},
		{`"p";t=60;r=10`, spaced(6*s, 60*s)},
		{`"p";r=7;t=60`, spaced(8571428572*time.Nanosecond, 60*s)}, // never shorter than t/r
		{`"p";r=0;t=30`, RateLimit{Given: true, Wait: 30 * s}},
		{`"p";r=1;t=30`, spaced(30*s, 30*s)},
		{`"p";r=10;t=0`, RateLimit{Given: true}},
		{`"a";r=100;t=10, "b";r=50;t=100`, spaced(2*s, 100*s)},
		{`"a";r=0;t=5,"b";r=2;t=10`, RateLimit{Given: true, Wait: 5 * s, Space: 5 * s, Until: 10 * s}},
		{`"p";r=0;t=999999999999999`, RateLimit{Given: true, Wait: Day}},
		{`"p";r=10;t=60;pk=:cHNm:;x;y=?1;z="\"\\";w=tok/en;v=1.5;u=-1`, spaced(6*s, 60*s)},
		{`"p;r=1";r=10;t=60`, spaced(6*s, 60*s)},
		{`"p";r=1;t=999;r=10;t=60`, spaced(6*s, 60*s)}, // RFC 9651 3.1.2: the last value of a key holds
		{`"p";r=10`, RateLimit{}},
		{`"p";t=60`, RateLimit{}},
		{``, RateLimit{}},
		// Malformed:
		{`p;r=10;t=60`, RateLimit{}},
		{`limit=100, remaining=10, reset=60`, RateLimit{}},
		{`"p";r=-1;t=60`, RateLimit{}},
		{`"p";r=1.5;t=60`, RateLimit{}},
		{`"p";r="1";t=60`, RateLimit{}},
		{`"p";r;t=60`, RateLimit{}},
		{`"p";r=;t=60`, RateLimit{}},
		{`"p";r=10;t=60,`, RateLimit{}},
		{`"p";r=10;t=60 "q"`, RateLimit{}},
		{`"p;r=10;t=60`, RateLimit{}},
		{`"p";R=10;t=60`, RateLimit{}},
		{`("p";r=10;t=60)`, RateLimit{}},
		{`"p";r=1000000000000000000;t=60`, RateLimit{}},
		{`"p";r=0;t=30, nonsense`, RateLimit{}},
		{`"p";r=10;t=60` + "\x00", RateLimit{}},
	} {
		assert.Equal(t, tt.want, ReadRateLimit(http.Header{"Ratelimit": {tt.field}}), tt.field)
	}
	assert.Equal(t, 3*s, ReadRateLimit(http.Header{"Ratelimit": {`"a";r=1;t=2`, `"b";r=1;t=3`}}).Space, "two fields are one list")
}

// For any field of a site, times are from 0 to a year, and spacing lasts at most as long as its quota.
func FuzzRule14_TheFieldIsBounded(f *testing.F) {
	f.Add(`"p";r=10;t=60, "q";r=0;t=1`)
	f.Add(`"\"";r=3;t=31536000;pk=:AA==:`)
	f.Fuzz(func(t *testing.T, field string) {
		l := ReadRateLimit(http.Header{"Ratelimit": {field}})
		if l.Wait < 0 || l.Space < 0 || l.Wait > LongestAfter || l.Space > l.Until || l.Until > LongestAfter {
			t.Fatalf("%q: %+v", field, l)
		}
		if !l.Given && l != (RateLimit{}) {
			t.Fatalf("%q requires no delay, and is read as %+v", field, l)
		}
		if _, ok := readQuotas([]string{field}); !ok && l.Given {
			t.Fatalf("%q is malformed, and obeyed: %+v", field, l)
		}
	})
}

func TestRule14_WhatItMeansForTheHost(t *testing.T) {
	s := time.Second
	for _, tt := range []struct {
		said Signal
		wait time.Duration
		in   frontier.Condition
	}{
		{Signal{Answer: Answered, RateLimit: RateLimit{Given: true, Wait: 30 * s}}, 30 * s, frontier.Parked},
		{Signal{Answer: Answered, RateLimit: RateLimit{Given: true, Space: 6 * s}}, 6 * s, frontier.Open},
		{Signal{Answer: Answered, RateLimit: RateLimit{Given: true, Space: 6 * time.Hour}}, 6 * time.Hour, frontier.Parked},
		{Signal{Answer: Answered, RateLimit: RateLimit{Given: true, Space: time.Millisecond}}, s, frontier.Open}, // the pace
		{Signal{Answer: Answered, RateLimit: RateLimit{Given: true, Wait: Day + s}}, Day + s, frontier.Retired},
		{Signal{Answer: Throttled, Why: "status 429", RateLimit: RateLimit{Given: true, Wait: 5 * s}}, time.Minute, frontier.Parked},
		{Signal{Answer: Throttled, Why: "status 429", RateLimit: RateLimit{Given: true, Wait: time.Hour}}, time.Hour, frontier.Parked},
		{Signal{Answer: Throttled, Why: "status 429", RetryAfter: RetryAfter{Given: true, Wait: 5 * s}, RateLimit: RateLimit{Given: true, Wait: time.Hour}}, 5 * s, frontier.Parked},
		{Signal{Answer: Refused, Why: "status 403", RateLimit: RateLimit{Given: true, Wait: 30 * s}}, 30 * s, frontier.Parked},
	} {
		var n State
		if r := n.after(tt.said, s); r.Wait != tt.wait || r.Condition != tt.in {
			t.Errorf("%+v: waits %v in %d, want %v in %d", tt.said, r.Wait, r.Condition, tt.wait, tt.in)
		}
	}
}

func TestRule14_SpacingEndsWithItsQuota(t *testing.T) {
	var n State
	n.limit(RateLimit{Given: true, Space: 6 * time.Second, Until: time.Minute}, 1000)
	n.limit(RateLimit{}, 2000) // a response without the field has no effect
	for now, want := range map[int64]time.Duration{1000: 6 * time.Second, 60_000_999: 6 * time.Second, 60_001_000: 0} {
		assert.Equalf(t, want, n.Spacing(now), "at %d", now)
	}
	n.Spaced, n.SpacedUntil = math.MaxUint64, math.MaxInt64 // damaged
	assert.EqualValues(t, 0, n.Spacing(0))
}
