package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"curtsy/storage/plainly"
)

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
	return plainly.Grouped(int64(math.Round(f)))
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
		return plainly.RoughSize(n)
	case "max-time":
		return lasting(time.Duration(n) * time.Second)
	}
	return plainly.Grouped(n)
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
