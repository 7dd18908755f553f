package robots

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// How long answers are used, and how long a failure makes wait.
const (
	maxLife    = 24 * time.Hour  // RFC 9309 2.4: a copy should not be used for longer
	minLife    = 5 * time.Minute // so that a server that forbids caching is not asked twice for each page
	firstRetry = time.Minute     // doubled with each failure in a row
	maxRetry   = time.Hour
	// what a server may ask for here; a longer rest of the whole host is the crawler's matter
	maxRetryAfter = 24 * time.Hour
)

// header is what net/http calls Header: canonical names, a value per line.
type header map[string][]string

func (h header) get(name string) string {
	if v := h[name]; len(v) > 0 {
		return strings.TrimSpace(v[0])
	}
	return ""
}

// life returns how long an answer that came at now may be used: what its header says (RFC 9111 4.2), for a private
// cache, within minLife and most; most when it says nothing.
//
// A robots.txt under no-store is used for minLife. It is kept beyond that, but as evidence only.
func (h header) life(now time.Time, most time.Duration) time.Duration {
	fresh, ok := h.cacheControl()
	if !ok {
		expires := h.get("Expires")
		if expires == "" {
			return most
		}
		date, ok := httpDate(h.get("Date"))
		if !ok {
			date = now
		}
		fresh = 0 // what is no date has expired (RFC 9111 5.3)
		if t, ok := httpDate(expires); ok {
			fresh = t.Sub(date)
		}
	}
	if age, ok := digits(h.get("Age")); ok {
		fresh -= age
	}
	return min(max(fresh, minLife), most)
}

// cacheControl returns the freshness lifetime that Cache-Control gives; ok is false when it gives none. Where it says
// several things the shortest counts, and what cannot be read means stale (RFC 9111 4.2.1).
func (h header) cacheControl() (fresh time.Duration, ok bool) {
	fresh = 10 * 365 * 24 * time.Hour
	for _, line := range h["Cache-Control"] {
		for directive := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store", "no-cache":
				fresh, ok = 0, true
			case "max-age":
				d, _ := digits(strings.Trim(value, ` "`))
				fresh, ok = min(fresh, d), true
			}
		}
	}
	return fresh, ok
}

// retryAfter returns the rest that Retry-After asks for (RFC 9110 10.2.3), at most maxRetryAfter; 0 without one. A
// value that cannot be read asks for maxRetryAfter.
func (h header) retryAfter(now time.Time) time.Duration {
	v := h.get("Retry-After")
	if v == "" {
		return 0
	}
	d, ok := digits(v)
	if !ok {
		t, ok := httpDate(v)
		if !ok {
			return maxRetryAfter
		}
		d = t.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}

// backoff returns the pause after so many failures in a row. Up to a fifth is added, which depends on the origin, so
// that hosts that failed at one time do not all come back at one time.
func backoff(origin string, failures int) time.Duration {
	d := firstRetry
	for range failures - 1 {
		if d *= 2; d >= maxRetry {
			d = maxRetry
			break
		}
	}
	return d + d/5*time.Duration(hash(origin+" "+strconv.Itoa(failures))%1001)/1000
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// digits reads a number of seconds. More than ten years are ten years.
func digits(s string) (time.Duration, bool) {
	n, rest := leadingDigits(s)
	if s == "" || rest != "" {
		return 0, false
	}
	return time.Duration(min(n, 10*365*24*60*60)) * time.Second, true
}

// httpDate reads a date in the three forms of RFC 9110 5.6.7.
func httpDate(s string) (time.Time, bool) {
	for _, layout := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
