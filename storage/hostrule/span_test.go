package hostrule

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func spans(t *testing.T, texts ...string) Spans {
	t.Helper()
	w, err := ParseSpans(texts)
	require.NoError(t, err)
	return w
}

func openIn(w Spans, date string) string {
	at, err := time.Parse(time.RFC3339, date+"T12:00:00Z")
	if err != nil {
		panic(err)
	}
	var all []string
	end := at.Add(36 * time.Hour)
	for {
		from, ok := w.Opens(at)
		if !ok || !from.Before(end) {
			return strings.Join(all, " ")
		}
		to, _ := w.Closes(from)
		if at = to; at.After(end) {
			at = end
		}
		all = append(all, from.Format("Mon 15:04")+"-"+at.Format("15:04"))
	}
}

func TestAWindowGoesByTheClockOfItsPlace(t *testing.T) {
	for _, tt := range []struct{ span, date, want string }{
		{"22:00-06:00 Europe/Berlin", "2026-01-10", "Sat 21:00-05:00 Sun 21:00-00:00"},
		{"22:00-06:00 Europe/Berlin", "2026-07-10", "Fri 20:00-04:00 Sat 20:00-00:00"},
		{"22:00-06:00 Europe/Berlin", "2026-03-28", "Sat 21:00-04:00 Sun 20:00-00:00"}, // seven hours
		{"22:00-06:00 Europe/Berlin", "2026-10-24", "Sat 20:00-05:00 Sun 21:00-00:00"}, // nine
		{"02:00-03:00 Europe/Berlin", "2026-03-28", ""},
		{"02:30-04:00 Europe/Berlin", "2026-03-28", "Sun 01:00-02:00"},
		{"01:00-02:30 Europe/Berlin", "2026-03-28", "Sun 00:00-01:00 Sun 23:00-00:00"},
		{"02:00-03:00 Europe/Berlin", "2026-10-24", "Sun 00:00-02:00"},
		{"02:30-04:00 Europe/Berlin", "2026-10-24", "Sun 00:30-01:00 Sun 01:30-03:00"},
		{"01:00-02:30 Europe/Berlin", "2026-10-24", "Sat 23:00-00:30 Sun 01:00-01:30"},
		{"01:30-03:30 America/New_York", "2026-03-07", "Sun 06:30-07:30"},
		{"01:00-02:00 America/New_York", "2026-10-31", "Sun 05:00-07:00"},
		{"01:30-02:00 Australia/Lord_Howe", "2026-04-04", "Sat 14:30-15:30 Sun 15:00-15:30"}, // 01:30 to 02:00 twice, without a gap
		{"22:00-06:00", "2026-03-28", "Sat 22:00-06:00 Sun 22:00-00:00"},
		{"22:00-06:00 Asia/Kolkata", "2026-03-28", "Sat 16:30-00:30 Sun 16:30-00:00"},
		{"Sat 22:00-06:00", "2026-03-28", "Sat 22:00-06:00"}, // a window over midnight belongs to the day it begins on
		{"Sun 22:00-06:00", "2026-03-28", "Sun 22:00-00:00"},
		{"Mon-Fri 22:00-06:00", "2026-03-27", "Fri 22:00-06:00"},
		{"Sat,Sun 00:00-24:00", "2026-03-27", "Sat 00:00-00:00"},
	} {
		assert.Equalf(t, tt.want, openIn(spans(t, tt.span), tt.date), "%s on %s", tt.span, tt.date)
	}
}

func TestSeveralWindowsAreOpenWhileOneIs(t *testing.T) {
	assert.Equal(t, "Fri 22:00-00:00", openIn(spans(t, "Mon-Fri 22:00-06:00", "Sat,Sun 00:00-24:00"), "2026-03-27"))
	got := openIn(spans(t, "12:30-13:00", "13:00-14:00", "20:00-21:00"), "2026-03-27")
	assert.Truef(t, strings.HasPrefix(got, "Fri 12:30-14:00 Fri 20:00-21:00 Sat"), "%q", got)
	var none Spans
	at := time.Now()
	assert.True(t, none.Open(at) && none.Share() == 1 && none.Takes(at, time.Hour) == time.Hour, "without a window something is closed")
}

func TestTheNextOpeningMayBeMoreThanAWeekAway(t *testing.T) {
	after := time.Date(2026, 3, 22, 12, 0, 0, 0, time.UTC)
	at, ok := spans(t, "Sun 02:00-02:30 Europe/Berlin").Opens(after)
	want := time.Date(2026, 4, 5, 0, 0, 0, 0, time.UTC)
	assert.Truef(t, ok && at.Equal(want), "%v, %v; want %v", at, ok, want)
}

func TestSpansAreWrittenInOneWay(t *testing.T) {
	for text, want := range map[string]string{
		"22:00-06:00":                               "22:00-06:00 UTC",
		" 22:00 - 6:00  Europe/Berlin ":             "22:00-06:00 Europe/Berlin",
		"mon - fri 22:00–06:00 Europe/Berlin":       "Mon-Fri 22:00-06:00 Europe/Berlin",
		"Sunday,saturday 00:00-24:00 utc":           "Sat,Sun 00:00-24:00 UTC",
		"Fri-Mon 00:00-24:00":                       "Mon,Fri-Sun 00:00-24:00 UTC",
		"Mon,Tue,Wed,Fri 01:00-02:00":               "Mon-Wed,Fri 01:00-02:00 UTC",
		"Mon-Sun 01:00-02:00 America/New_York":      "01:00-02:00 America/New_York",
		"Wed 01:00-02:00 America/Argentina/Ushuaia": "Wed 01:00-02:00 America/Argentina/Ushuaia",
	} {
		s, err := ParseSpan(text)
		if err != nil || s.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, s, err, want)
			continue
		}
		again, err := ParseSpan(s.String())
		assert.Truef(t, err == nil && again.String() == want, "%q is read as %q, %v", s, again, err)
	}
}

func TestSpans_RejectsInvalidWindows(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "Mon-Fri 22:00-06:00 Europe/Berlin",
		"22-6":                         "Mon-Fri 22:00-06:00 Europe/Berlin",
		"22:00":                        "Mon-Fri 22:00-06:00 Europe/Berlin",
		"00:00-00:00":                  "would never open; write 00:00-24:00",
		"06:00-06:00":                  "would never open",
		"24:00-06:00":                  "would never open",
		"22:00-00:00":                  "write 22:00-24:00",
		"25:00-06:00":                  "25:00 is not a time of day",
		"22:00-06:60":                  "06:60 is not a time of day",
		"Mo 22:00-06:00":               `"mo" is not a day; write Mon`,
		"Mon-Fry 22:00-06:00":          `"fry" is not a day`,
		"22:00-06:00 Europe/Berln":     `no time zone "Europe/Berln"; write one like Europe/Berlin`,
		"22:00-06:00 Local":            `no time zone "Local"`,
		"22:00-06:00 ../../etc/passwd": "no time zone",
		"22:00-06:00 Xyzzyplugh":       "write one like Europe/Berlin",
	} {
		_, err := ParseSpan(text)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), want), "%q: %v, want %q", text, err, want)
	}
}

func TestWorkTakesLongerWithinAWindow(t *testing.T) {
	w, at := spans(t, "22:00-06:00"), time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for work, want := range map[time.Duration]time.Duration{
		time.Hour:        11 * time.Hour,
		8 * time.Hour:    18 * time.Hour,
		9 * time.Hour:    35 * time.Hour,
		0:                0,
		1e3 * time.Hour:  3e3 * time.Hour,
		10 * time.Second: 10*time.Hour + 10*time.Second,
	} {
		assert.Equalf(t, want, w.Takes(at, work), "%v of work", work)
	}
	s := w.Share()
	assert.True(t, s >= 0.333 && s <= 0.334, s)
}
