package evidence

import (
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// maxRateLimit bounds what is read of the field, in bytes. A longer one is not judged.
const maxRateLimit = 4096

// quota is what the field asks for.
type quota struct {
	Given bool
	Wait  time.Duration // nothing is left for so long
	Space time.Duration // between two requests, so that what is left lasts
	Until time.Duration // how long space holds
}

// RateLimit reads the field (draft-ietf-httpapi-ratelimit-headers), a list of strings with parameters (RFC 9651): r is what
// is left of a quota, t the seconds until it is filled again. The longest times of all quotas hold, and more than a year
// is a day (docs/trust/politeness.md, rule 14). A field that is malformed anywhere asks for nothing.
func RateLimit(field string) (q quota) {
	if len(field) > maxRateLimit {
		return quota{}
	}
	list, err := httpsfv.UnmarshalList([]string{field})
	if err != nil {
		return quota{}
	}
	for _, m := range list {
		item, ok := m.(httpsfv.Item)
		if !ok {
			return quota{}
		}
		if _, ok = item.Value.(string); !ok {
			return quota{}
		}
		left, hasLeft := item.Params.Get("r")
		reset, hasReset := item.Params.Get("t")
		l, lok := left.(int64)
		t, tok := reset.(int64)
		if hasLeft && (!lok || l < 0) || hasReset && (!tok || t < 0) {
			return quota{}
		}
		if hasLeft && hasReset {
			q.add(l, t)
		}
	}
	return q
}

func (q *quota) add(left, reset int64) {
	t := day
	if reset <= int64(365*day/time.Second) {
		t = time.Duration(reset) * time.Second
	}
	q.Given = true
	switch {
	case left == 0:
		q.Wait = max(q.Wait, t)
	case t > 0:
		q.Space, q.Until = max(q.Space, t/time.Duration(left)), max(q.Until, t)
	}
}

const day = 24 * time.Hour

// Seconds reads a number of seconds. More than ten years are ten years.
func Seconds(s string) (time.Duration, bool) {
	const most = 10 * 365 * 24 * 60 * 60
	if s = strings.TrimSpace(s); s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil { // more digits than fit
		n = most
	}
	return time.Duration(min(n, most)) * time.Second, true
}

// Date reads a date in the three forms of RFC 9110 5.6.7.
func Date(s string) (time.Time, bool) {
	for _, form := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
