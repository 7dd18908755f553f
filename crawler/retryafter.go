package crawler

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	day          = 24 * time.Hour
	longestAfter = 365 * day
)

// after is what a Retry-After field asks for. The zero value is none.
type after struct {
	given bool
	wait  time.Duration
	odd   bool // the field cannot be read, or asks for more than a year: wait is a day
}

// String is the wait, and that it is not what the field said.
func (a after) String() string {
	s := a.wait.Round(time.Second).String()
	if a.odd {
		s += " (what it says cannot be read, or is over a year)"
	}
	return s
}

// retryAfter reads the Retry-After field: seconds or an HTTP date (RFC 9110 10.2.3). What cannot be read, and what
// is longer than a year, asks for a day (politeness rule 11). Of several fields, which no server should send, the one
// that asks for most holds.
func retryAfter(h http.Header, now time.Time) (longest after) {
	for _, v := range h.Values("Retry-After") {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		if a := readAfter(v, now); !longest.given || a.wait > longest.wait {
			longest = a
		}
	}
	return longest
}

func readAfter(v string, now time.Time) after {
	odd := after{true, day, true}
	if strings.HasPrefix(v, "+") {
		return odd // RFC 9110 has digits alone
	}
	if n, err := strconv.ParseUint(v, 10, 63); err == nil {
		if n > uint64(longestAfter/time.Second) {
			return odd
		}
		return after{true, time.Duration(n) * time.Second, false}
	}
	t, err := http.ParseTime(v)
	if err != nil || t.Sub(now) > longestAfter {
		return odd
	}
	return after{true, max(t.Sub(now), 0), false}
}

// restful reports whether Retry-After means something with a: with 429 and 503, and with any 3xx (politeness rule 11).
func restful(a answer, status int) bool { return a == throttled || status >= 300 && status < 400 }
