// This file says whether a failure of a proxy is that of one host or of the proxy, and what a crawl does then. A
// crawl whose only way out is gone must not fail ten thousand URLs: it rests, all hosts alike, and ends when that does
// not help. What a proxy cannot do for one host alone is that host's failure, or the crawl would never end.
//
// It has no clock and makes no connection.

package crawler

import (
	"sync"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/frontier/canon"
)

// How many hosts in a row, with no answer through the proxy in between, make a failure that of the proxy.
const (
	hostsOdd  = 3
	hostsSaid = 10
)

// The rests: the first one, doubled each time, and how many there are before the crawl ends: five minutes in all.
const (
	firstRest   = time.Second
	longestRest = time.Minute
	maxRests    = 10
)

// watch knows how a proxy has done. The zero value has seen nothing. Its methods may be called concurrently.
type watch struct {
	mu     sync.Mutex
	served bool // something has come through
	row    map[canon.Authority]bool
	rests  int
	began  time.Time // of the last rest
	until  time.Time // its end
}

// A Verdict is what a failure means.
type verdict uint8

// The verdicts.
const (
	ofHost     verdict = iota // it is that of the host
	resting                   // it is the proxy's: nothing is asked until Closed says so
	first                     // likewise, and this failure has begun the rest
	wayoutOver                // the proxy cannot be used: the crawl ends
)

// Closed is for how long nothing is to be asked.
func (w *watch) Closed(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, w.until.Sub(now))
}

// Served notes that something came through the proxy.
func (w *watch) Served() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served, w.row, w.rests, w.until = true, nil, 0, time.Time{}
}

// Failed notes that an exchange with a, begun at a time, failed at the proxy.
func (w *watch) Failed(a canon.Authority, k fetch.Kind, began, now time.Time) verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.row == nil {
		w.row = map[canon.Authority]bool{}
	}
	w.row[a] = true
	switch {
	case k == fetch.Said && len(w.row) < hostsSaid, k == fetch.Odd && w.served && len(w.row) < hostsOdd:
		return ofHost
	case !w.served && k != fetch.Said:
		return wayoutOver // whoever mistyped a proxy wants to know it now
	case now.Before(w.until) || began.Before(w.began):
		return resting // of the same outage
	case w.rests >= maxRests:
		return wayoutOver
	}
	rest := firstRest
	for range w.rests {
		rest = min(2*rest, longestRest)
	}
	w.rests++
	w.began, w.until = now, now.Add(rest)
	return first
}
