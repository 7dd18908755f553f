package report

import (
	"strconv"
	"strings"
	"time"

	"curtsy/storage/plainly"
)

// duration writes milliseconds for people, cut rather than rounded up.
func duration(ms float64) string {
	trim := func(f float64, digits int) string {
		scale := 1.0
		for range digits {
			scale *= 10
		}
		s := strconv.FormatFloat(float64(int64(f*scale+1e-6))/scale, 'f', digits, 64)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	switch {
	case ms < 0:
		return "−" + duration(-ms)
	case ms == 0:
		return "0"
	case ms < 1000:
		return trim(ms, 1) + " ms"
	case ms < 120_000:
		return trim(ms/1000, 3) + " s"
	case ms < 2*3600_000:
		return trim(ms/60_000, 1) + " min"
	case ms < 48*3600_000:
		return trim(ms/3600_000, 1) + " h"
	}
	return trim(ms/86400_000, 1) + " days"
}

// measured writes milliseconds that were measured, cut to the millisecond.
func measured(ms float64) string {
	if ms < 1000 || ms >= 120_000 {
		return duration(ms)
	}
	return strconv.FormatFloat(float64(int64(ms+1e-6))/1000, 'f', 3, 64) + " s"
}

// site is an authority as people write it: without the port that its scheme has anyway.
func site(authority string) string {
	for scheme, port := range map[string]string{"http://": ":80", "https://": ":443"} {
		if strings.HasPrefix(authority, scheme) {
			return strings.TrimSuffix(authority, port)
		}
	}
	return authority
}

func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return plainly.Grouped(n) + " " + thing + "s"
}

func addresses(n int64) string {
	if n == 1 {
		return "1 address"
	}
	return plainly.Grouped(n) + " addresses"
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// moment is an instant as the archive or the ledger has written it; what is none stays as it is.
func moment(s string) string {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return instant(t)
	}
	return s
}

// paceWords say who asked for a delay.
var paceWords = plainly.Words("delays")

// notSaid stands for the word that a ledger lacks.
const notSaid = "not recorded"

func paceWord(by string) string {
	if w := paceWords[by]; w != "" {
		return w
	}
	return by
}
