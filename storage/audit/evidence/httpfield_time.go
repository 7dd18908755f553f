package evidence

import (
	"strconv"
	"strings"
	"time"
)

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
