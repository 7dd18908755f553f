package host

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"curtsy/crawler/fetch"
	"curtsy/storage"
)

// Answer is the kind of a response.
type Answer uint8

const (
	Answered    Answer = iota // 2xx, whole or cut by curtsy's limits
	Redirected                // 3xx with Location
	Gone                      // 404, 410
	Refused                   // 401, 402, 403, 407, 451
	Unwanted                  // curtsy's limits or the operator's settings excluded the body
	Useless                   // any other response that a retry does not change
	Throttled                 // 429, 503
	Broken                    // other 5xx, 408, 425
	Unreachable               // no complete response: DNS, connect, TLS, timeout, reset, protocol, incomplete
	Nowhere                   // NXDOMAIN
	Guarded                   // curtsy rejects the address
	CutOff                    // the crawl ended meanwhile
)

// Reasons on curtsy's side.
const (
	Aborted  = storage.ReasonAborted // the crawl was
	OverTime = storage.ReasonTooSlow // longer than one exchange may take
	TooSlow  = storage.ReasonSlow    // below the minimum speed, or others needed the slot of a slow exchange
)

// Classify returns the kind of an exchange, with its reason in a few stable words.
func Classify(ex *fetch.Exchange) (Answer, string) {
	if f := ex.Failure; f != nil && !statusCounts(ex.Status, f.Class) {
		switch {
		case f.Class == fetch.NXDomain:
			return Nowhere, string(f.Class)
		case f.Class.Ours():
			return Guarded, string(f.Class)
		case f.Class == fetch.Coding, errors.Is(f, fetch.ErrRepeated):
			return Useless, string(f.Class) // it was complete, and would be the same again
		case f.Class == fetch.Stopped:
			return CutOff, Aborted
		case errors.Is(f, fetch.ErrSlow):
			return Unreachable, TooSlow
		case errors.Is(f, fetch.ErrWhole):
			return Unwanted, OverTime
		}
		return Unreachable, string(f.Class)
	}
	status := func() string { return "status " + strconv.Itoa(ex.Status) }
	switch s := ex.Status; {
	case s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable:
		return Throttled, status()
	case s >= 500 || s == http.StatusRequestTimeout || s == http.StatusTooEarly:
		return Broken, status()
	case s == http.StatusNotFound || s == http.StatusGone:
		return Gone, status()
	case s == 401 || s == 402 || s == 403 || s == 407 || s == 451:
		return Refused, status()
	case s >= 300 && s < 400 && s != http.StatusNotModified && ex.Header.Get("Location") != "":
		return Redirected, status()
	case s < 200 || s >= 300:
		return Useless, status()
	case ex.Unwanted != "":
		return Unwanted, ex.Unwanted
	}
	return Answered, ""
}

// statusCounts reports whether the status counts although the body is unusable: an overloaded host asks for a back-off
// even if its body is incomplete, and an error page needs no decoding.
func statusCounts(status int, f fetch.Class) bool {
	busy := status == http.StatusTooManyRequests || status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly
	return busy || f == fetch.Coding && status != 0 && (status < 200 || status > 299)
}

// IsFailure reports whether a is a failure of the host that may pass (politeness rule 12).
func (a Answer) IsFailure() bool { return a == Broken || a == Unreachable || a == Nowhere }

// Attempts returns how many exchanges a URL with this response gets.
func (a Answer) Attempts() int {
	switch a {
	case Throttled:
		return 5
	case Broken, Unreachable:
		return 3
	case Nowhere:
		return 2
	}
	return 1
}

// FindingAttempts is Attempts for a finding.
const FindingAttempts = 2

// FailureClass returns the name by which a failure of the host is counted, or "".
func FailureClass(a Answer, ex *fetch.Exchange) string {
	switch {
	case a != Throttled && !a.IsFailure():
		return ""
	case ex.Failure != nil:
		return string(ex.Failure.Class)
	case ex.Status >= 500:
		return "5xx"
	}
	return strconv.Itoa(ex.Status) // 429, 408, 425
}

const (
	Day          = 24 * time.Hour
	LongestAfter = 365 * Day
)

// RetryAfter is the value of a Retry-After field. The zero value means no field.
type RetryAfter struct {
	Given bool
	Wait  time.Duration
	Odd   bool // the value is unreadable or over a year: Wait is a day
}

func (a RetryAfter) String() string {
	s := a.Wait.Round(time.Second).String()
	if a.Odd {
		s += " (its value is unreadable or over a year)"
	}
	return s
}

// ReadRetryAfter reads the Retry-After field: seconds or an HTTP date (RFC 9110 10.2.3). An unreadable value, or one over a
// year, counts as a day (politeness rule 11). Of several fields the longest applies.
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
		return odd // RFC 9110 allows digits only
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

// ObeysRetryAfter reports whether Retry-After counts: with 429, 503 and any 3xx (politeness rule 11).
func ObeysRetryAfter(a Answer, status int) bool {
	return a == Throttled || status >= 300 && status < 400
}

// RateLimit is the value of a RateLimit field (draft-ietf-httpapi-ratelimit-headers, politeness rule 14). The zero value is
// none.
type RateLimit struct {
	Given bool
	Wait  time.Duration // no requests: a quota is used up
	Space time.Duration // between two exchanges, so that a quota lasts
	Until time.Duration // the validity of Space
}

// ReadRateLimit reads the RateLimit field: a list of quotas, each a string with the parameters r, the rest, and t, the
// seconds until it is reset. A malformed structured field is ignored as a whole (RFC 9651 4.2), and so is a quota without r
// or t. A time over a year counts as a day. Of several quotas the longest times apply.
func ReadRateLimit(h http.Header) RateLimit {
	quotas, ok := readQuotas(h.Values("RateLimit"))
	if !ok {
		return RateLimit{}
	}
	var l RateLimit
	for _, q := range quotas {
		l.Given = true
		reset := Day
		if q.reset <= int64(LongestAfter/time.Second) {
			reset = time.Duration(q.reset) * time.Second
		}
		if q.left == 0 {
			l.Wait = max(l.Wait, reset)
			continue
		}
		left := time.Duration(q.left)
		space := reset / left
		if reset%left > 0 {
			space++ // never shorter than t/r
		}
		if space > 0 {
			l.Space, l.Until = max(l.Space, space), max(l.Until, reset)
		}
	}
	return l
}

// limit keeps the spacing of a RateLimit field until its quota is reset or another field comes.
func (n *State) limit(l RateLimit, now int64) {
	if !l.Given {
		return
	}
	n.Spaced, n.SpacedUntil = uint64((l.Space+time.Microsecond-1)/time.Microsecond), now+l.Until.Microseconds()
}

// Spacing returns the delay by RateLimit; now is in microseconds of the steady clock.
func (n *State) Spacing(now int64) time.Duration {
	if now >= n.SpacedUntil || n.Spaced > uint64(LongestAfter/time.Microsecond) {
		return 0
	}
	return time.Duration(n.Spaced) * time.Microsecond
}

// quota is an item of the field.
type quota struct{ left, reset int64 }

// readQuotas parses a list of strings with parameters (RFC 9651 4.2). Inner lists, other items, and an r or t that is not a
// whole number from 0 up are malformed.
func readQuotas(fields []string) (all []quota, ok bool) {
	list, err := httpsfv.UnmarshalList(fields)
	for _, m := range list {
		item, isItem := m.(httpsfv.Item)
		if _, isString := item.Value.(string); !isItem || !isString {
			return nil, false
		}
		q := quota{-1, -1}
		for name, n := range map[string]*int64{"r": &q.left, "t": &q.reset} {
			if v, given := item.Params.Get(name); given {
				if *n, ok = v.(int64); !ok || *n < 0 {
					return nil, false
				}
			}
		}
		if q.left >= 0 && q.reset >= 0 {
			all = append(all, q)
		}
	}
	return all, err == nil
}
