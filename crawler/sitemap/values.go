package sitemap

import (
	"strconv"
	"strings"
	"time"
)

const defaultPriority = 0.5

// frequencies are the values that changefreq has.
var frequencies = []string{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}

func frequencyOf(s string) string {
	for _, f := range frequencies {
		if strings.EqualFold(strings.TrimSpace(s), f) {
			return f
		}
	}
	return ""
}

func priorityOf(s string) float64 {
	if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil && f >= 0 && f <= 1 {
		return f
	}
	return defaultPriority
}

// dates are the forms of lastmod (W3C Note datetime), of Atom (RFC 3339), and of RSS (RFC 822, with years of two and of
// four digits). Go takes a fraction of a second where the form has none.
var dates = []string{
	"2006-01-02", time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01", "2006",
	"2006-01-02T15:04:05", "2006-01-02 15:04:05",
	"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
	"2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 06 15:04:05 -0700", "Mon, 2 Jan 06 15:04:05 MST", "2 Jan 06 15:04:05 -0700", "2 Jan 06 15:04:05 MST",
	"Mon, 2 Jan 2006 15:04 -0700", "Mon, 2 Jan 2006 15:04 MST", "2 Jan 2006 15:04 -0700", "2 Jan 2006 15:04 MST",
	// RFC 822 5.1: seconds may be left out
	"Mon, 2 Jan 06 15:04 -0700", "Mon, 2 Jan 06 15:04 MST", "2 Jan 06 15:04 -0700", "2 Jan 06 15:04 MST",
}

// dateOf reads a date; the zero time when it cannot. A zone that is not said is UTC.
func dateOf(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, form := range dates {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
