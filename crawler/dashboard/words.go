package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// perS writes how often something happens in a second.
func perS(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f < 0.095:
		return fmt.Sprintf("%.2f", f)
	case f < 99.95:
		return fmt.Sprintf("%.1f", f)
	}
	return grouped(int64(math.Round(f)))
}

// octets writes a size; binary prefixes, as everywhere.
func octets(n int64) string { return octetsF(float64(n)) }

func octetsF(f float64) string {
	unit := 0
	for f >= 999.5 && unit < 4 {
		f /= 1024
		unit++
	}
	if unit == 0 || f >= 99.5 {
		return fmt.Sprintf("%.0f %s", f, [...]string{"B", "KiB", "MiB", "GiB", "TiB"}[unit])
	}
	return fmt.Sprintf("%.1f %s", f, [...]string{"B", "KiB", "MiB", "GiB", "TiB"}[unit])
}

// lasting writes a time for people, in two units at most.
func lasting(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d < 10*time.Second:
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// secondsText is lasting of seconds.
func secondsText(s float64) string {
	if s > float64(math.MaxInt64)/float64(time.Second) {
		return "–"
	}
	return lasting(time.Duration(s * float64(time.Second)))
}

// budget writes how much of a budget is used, or its limit, in its unit.
func budget(name string, n int64) string {
	switch name {
	case "max-bytes":
		return octets(n)
	case "max-time":
		return lasting(time.Duration(n) * time.Second)
	}
	return grouped(n)
}

// share writes a part of a whole.
func share(part, whole float64) string {
	if whole <= 0 {
		return "–"
	}
	p := 100 * part / whole
	if p > 0 && p < 0.95 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", p)
}

// clock writes an instant of today.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// stamp writes an instant.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }
