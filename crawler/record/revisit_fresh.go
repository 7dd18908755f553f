package record

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// neverSent are fields that no request of ours carries, or each one alike, so that an answer that varies by them is the
// same for all of ours (RFC 9111 4.1).
var neverSent = map[string]bool{
	"accept-encoding": true, "authorization": true, "cookie": true, "origin": true, "referer": true, "range": true,
}

// Fresh reports whether an answer that was asked for at got is fresh now, by what its server said and by nothing else
// (RFC 9111 4.2, without 4.2.2). What is said in two ways, or cannot be read, is not fresh.
func Fresh(h http.Header, got, now time.Time) bool {
	left, ok := holds(h, got, now)
	return ok && left > 0
}

// Holds is for how long an answer that came at got holds from then, by what its server said (Fresh), up to 68 years; zero
// when it did not say.
func Holds(h http.Header, got time.Time) time.Duration {
	left, _ := holds(h, got, got)
	return max(left, 0)
}

// Modified is Last-Modified of an answer that came at got; zero when that cannot be read, came twice, or is later.
func Modified(h http.Header, got time.Time) time.Time {
	at, err := http.ParseTime(alone(h, "Last-Modified"))
	if err != nil || at.After(got) || at.Year() < 1990 {
		return time.Time{}
	}
	return at.UTC()
}

// holds is for how long an answer still holds.
func holds(h http.Header, got, now time.Time) (left time.Duration, ok bool) {
	said := cacheControl(h)
	for _, no := range []string{"no-cache", "no-store", "private"} {
		if _, ok := said[no]; ok {
			return 0, false
		}
	}
	if len(h.Values("Set-Cookie")) > 0 || len(h.Values("Pragma")) > 0 {
		return 0, false
	}
	for _, v := range h.Values("Vary") {
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name != "" && !neverSent[name] {
				return 0, false
			}
		}
	}
	life, ok := lifetime(h, said)
	if !ok || life <= 0 {
		return 0, false
	}
	age, ok := ageOf(h, got, now)
	return min(life, longestLife*time.Second) - age, ok
}

// lifetime is the explicit freshness lifetime of an answer (RFC 9111 4.2.1).
func lifetime(h http.Header, said map[string]string) (time.Duration, bool) {
	for _, name := range []string{"s-maxage", "max-age"} {
		if v, ok := said[name]; ok {
			return deltaSeconds(v)
		}
	}
	expires, dates := h.Values("Expires"), h.Values("Date")
	if len(expires) != 1 || len(dates) != 1 {
		return 0, false
	}
	end, err := http.ParseTime(expires[0])
	if err != nil {
		return 0, false
	}
	date, err := http.ParseTime(dates[0])
	return end.Sub(date), err == nil
}

// ageOf is the age of an answer (RFC 9111 4.2.3). It counts from the request, which takes the way of the answer for a part
// of its age.
func ageOf(h http.Header, got, now time.Time) (time.Duration, bool) {
	since := now.Sub(got)
	if since < 0 {
		return 0, false // a clock was set back: nothing is known of the time between
	}
	apparent, stated := time.Duration(0), time.Duration(0)
	if v := h.Get("Date"); v != "" {
		date, err := http.ParseTime(v)
		if err != nil {
			return 0, false
		}
		apparent = max(got.Sub(date), 0)
	}
	for _, v := range h.Values("Age") {
		d, ok := deltaSeconds(v)
		if !ok {
			return 0, false
		}
		stated = max(stated, d)
	}
	return max(apparent, stated) + since, true
}

// longestLife is what longer delta-seconds are taken for (RFC 9111 1.2.2).
const longestLife = 1 << 31

func deltaSeconds(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = longestLife // digits alone: it is too large
	}
	return time.Duration(min(n, longestLife)) * time.Second, true
}

// cacheControl reads the directives of Cache-Control, in lower case, their values without quotes. One that is said twice
// with two values has a value that is none.
func cacheControl(h http.Header) map[string]string {
	said := map[string]string{}
	for _, v := range h.Values("Cache-Control") {
		for _, d := range unquotedCommas(v) {
			name, value, _ := strings.Cut(d, "=")
			name = strings.ToLower(strings.TrimSpace(name))
			value = strings.Trim(strings.TrimSpace(value), `"`)
			if old, again := said[name]; again && old != value {
				value = "?"
			}
			said[name] = value
		}
	}
	return said
}

// unquotedCommas parts s at the commas that stand in no quotes (RFC 9110 5.6.1, 5.6.4).
func unquotedCommas(s string) (parts []string) {
	begin, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			parts, begin = append(parts, s[begin:i]), i+1
		}
	}
	return append(parts, s[begin:])
}
