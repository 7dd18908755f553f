package host

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	Day          = 24 * time.Hour
	LongestAfter = 365 * Day
)

// RetryAfter is what a Retry-After field asks for. The zero value is none.
type RetryAfter struct {
	Given bool
	Wait  time.Duration
	Odd   bool // the field cannot be read, or asks for more than a year: wait is a day
}

// String is the wait, and that it is not what the field said.
func (a RetryAfter) String() string {
	s := a.Wait.Round(time.Second).String()
	if a.Odd {
		s += " (its value is unreadable or over a year)"
	}
	return s
}

// ReadRetryAfter reads the Retry-After field: seconds or an HTTP date (RFC 9110 10.2.3). What cannot be read, and what
// is longer than a year, asks for a day (politeness rule 11). Of several fields, which no server should send, the one
// that asks for most holds.
func ReadRetryAfter(h http.Header, now time.Time) (longest RetryAfter) {
	for _, v := range h.Values("Retry-After") {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		if a := readAfter(v, now); !longest.Given || a.Wait > longest.Wait {
			longest = a
		}
	}
	return longest
}

func readAfter(v string, now time.Time) RetryAfter {
	odd := RetryAfter{true, Day, true}
	if strings.HasPrefix(v, "+") {
		return odd // RFC 9110 has digits alone
	}
	if n, err := strconv.ParseUint(v, 10, 63); err == nil {
		if n > uint64(LongestAfter/time.Second) {
			return odd
		}
		return RetryAfter{true, time.Duration(n) * time.Second, false}
	}
	t, err := http.ParseTime(v)
	if err != nil || t.Sub(now) > LongestAfter {
		return odd
	}
	return RetryAfter{true, max(t.Sub(now), 0), false}
}

// ObeysRetryAfter reports whether Retry-After means something with a: with 429 and 503, and with any 3xx (politeness rule 11).
func ObeysRetryAfter(a Answer, status int) bool {
	return a == Throttled || status >= 300 && status < 400
}
