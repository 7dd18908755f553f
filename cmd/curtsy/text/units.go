package text

import (
	"fmt"
	"strconv"
	"time"

	"curtsy/frontier"
)

func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ShortWait writes a duration in a few characters: its two largest units.
func ShortWait(d time.Duration) string {
	switch {
	case d == frontier.Never:
		return "ever"
	case d <= 0:
		return "–"
	case d < time.Second:
		return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// Clock writes a duration as mm:ss or h:mm:ss.
func Clock(d time.Duration) string {
	s := int(d.Seconds())
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Stamp writes an instant to the millisecond.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
