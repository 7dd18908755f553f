package finding

import "time"

// MaxText bounds the texts in a finding, in bytes.
const MaxText = 500

// Short cuts a text that comes from the archive.
func Short(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return s[:MaxText] + "…"
}

// Clock writes an instant as findings do.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Round writes a duration as findings do.
func Round(d time.Duration) string { return d.Round(time.Microsecond).String() }
