package crawler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

func wayoutHost(t *testing.T, n int) canon.Authority {
	t.Helper()
	return parse(t, fmt.Sprintf("https://h%d.test/", n)).Authority()
}

func TestWhoseFailureItIs(t *testing.T) {
	at := time.Unix(1e9, 0)
	for _, c := range []struct {
		name   string
		served bool
		kind   fetch.Kind
		hosts  int // that fail in a row; negative: one host, so often
		want   verdict
	}{
		{"down at the start", false, fetch.Down, 1, wayoutOver},
		{"odd at the start", false, fetch.Odd, 1, wayoutOver},
		{"one host that it does not reach", false, fetch.Said, 1, ofHost},
		{"nine hosts that it does not reach", true, fetch.Said, 9, ofHost},
		{"ten hosts that it does not reach", true, fetch.Said, 10, first},
		{"ten hosts, and none ever reached", false, fetch.Said, 10, first},
		{"down later", true, fetch.Down, 1, first},
		{"odd for one host", true, fetch.Odd, 1, ofHost},
		{"odd for one host a hundred times", true, fetch.Odd, -100, ofHost},
		{"odd for three", true, fetch.Odd, 3, first},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w watch
			if c.served {
				w.Served()
			}
			var got verdict
			for i := range max(c.hosts, -c.hosts) {
				got = w.Failed(wayoutHost(t, min(i, max(c.hosts, 0))), c.kind, at, at)
			}
			assert.Equalf(t, c.want, got, "%v, want %v", got, c.want)
			if closed := w.Closed(at) > 0; closed != (c.want == first) {
				t.Errorf("closed for %v", w.Closed(at))
			}
		})
	}
}

// The crawl waits longer in each outage, counts the exchanges under way in it once, and ends after the last one.
func TestAnOutageEndsTheCrawlAfterItsRests(t *testing.T) {
	var w watch
	w.Served()
	now, total := time.Unix(1e9, 0), time.Duration(0)
	for i := range maxRests {
		began := now
		require.Equalf(t, first, w.Failed(wayoutHost(t, 1), fetch.Down, began, now), "rest %d", i)
		for range 64 {
			require.Equal(t, resting, w.Failed(wayoutHost(t, 2), fetch.Down, began.Add(-time.Millisecond), now.Add(time.Millisecond)), "of the same outage")
		}
		rest := w.Closed(now)
		if rest <= 0 || rest > longestRest {
			t.Fatalf("rest %d: %v", i, rest)
		}
		total += rest
		now = now.Add(rest)
	}
	if got := w.Failed(wayoutHost(t, 1), fetch.Down, now, now); got != wayoutOver || total < 4*time.Minute || total > 6*time.Minute {
		t.Errorf("after %v: %v", total, got)
	}
	w.Served()
	if got := w.Failed(wayoutHost(t, 1), fetch.Down, now, now); got != first || w.Closed(now) != firstRest {
		t.Errorf("after an answer: %v", got)
	}
}
