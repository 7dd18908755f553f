package budget

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func authority(t *testing.T, s string) canon.Authority {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u.Authority()
}

// No 24 hours exceed the cap, and a request may be sent after the returned wait.
func TestDaily_NoDayHasMoreThanTheCap(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		most := int64(1 + rng.IntN(30))
		d := NewDaily(func(canon.Authority) int64 { return most })
		a, now := authority(t, "https://a.test/"), time.Unix(1_800_000_000, 0)
		var made []time.Time
		for range 2000 {
			now = now.Add(time.Duration(rng.Int64N(int64(2 * time.Hour))))
			left, _ := d.Left(a, now)
			wait := d.Take(a, now)
			require.Equalf(t, (wait == 0), (left > 0), "%d left, and %v to wait", left, wait)
			require.LessOrEqual(t, wait, 25*time.Hour, "the wait")
			if wait > 0 && rng.IntN(2) == 0 {
				now = now.Add(wait)
				wait = d.Take(a, now)
				if wait > 0 {
					t.Fatalf("%v to wait after the wait", wait)
				}
			}
			if wait == 0 && rng.IntN(5) == 0 {
				d.Return(a, now)
			} else if wait == 0 {
				made = append(made, now)
			}
		}
		for i := int(most); i < len(made); i++ {
			require.GreaterOrEqualf(t, made[i].Sub(made[i-int(most)]), 24*time.Hour, "cap %d: %d requests within a day", most, most+1)
		}
		assert.GreaterOrEqualf(t, len(made), int(most)*5, "cap %d: %d requests in all", most, len(made))
	}
}

func TestDaily_WhatOtherRunsMadeCounts(t *testing.T) {
	d := NewDaily(func(canon.Authority) int64 { return 3 })
	now := time.Unix(1_800_000_000, 0)
	a, b := authority(t, "https://a.test/"), authority(t, "https://b.test/")
	for _, ago := range []time.Duration{26 * time.Hour, 23 * time.Hour, time.Hour, -1000 * time.Hour} {
		d.Made(a, now.Add(-ago), now)
	}
	if n, wait := d.Left(a, now); n != 0 || wait <= 0 || wait > 2*time.Hour {
		t.Errorf("%d left, more in %v", n, wait)
	}
	if n, wait := d.Left(b, now); n != 3 || wait != 0 {
		t.Errorf("another host: %d left, more in %v", n, wait)
	}
	if n, _ := d.Left(a, now.Add(26*time.Hour)); n != 3 {
		t.Errorf("a day later: %d left", n)
	}
}
