package evidence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// declared is what a warcinfo says that has these windows.
func declared(windows ...string) *Info {
	in := &Info{}
	for _, w := range windows {
		in.add("window", w)
	}
	in.read()
	return in
}

// The instants are those at which the clock of Berlin changes in 2026, and those of ordinary nights.
func TestAWindowIsReadByTheClockOfItsPlace(t *testing.T) {
	night := declared("22:00-06:00 Europe/Berlin")
	week := declared("Mon-Fri 22:00-06:00 Europe/Berlin", "Sat,Sun 00:00-24:00 UTC")
	missing, twice := declared("02:30-04:00 Europe/Berlin"), declared("Sun 01:00-02:30 Europe/Berlin")
	for _, tt := range []struct {
		in   *Info
		at   string
		open bool
	}{
		{night, "2026-01-10T21:00:00Z", true}, {night, "2026-01-10T20:59:59Z", false}, {night, "2026-01-11T04:59:59Z", true}, {night, "2026-01-11T05:00:00Z", false},
		{night, "2026-03-29T03:59:59Z", true}, {night, "2026-03-29T04:00:00Z", false}, {night, "2026-10-25T04:30:00Z", true}, {night, "2026-10-25T05:00:00Z", false},
		{missing, "2026-03-29T00:59:59Z", false}, {missing, "2026-03-29T01:00:00Z", true}, {missing, "2026-03-29T02:00:00Z", false},
		{twice, "2026-10-25T00:29:59Z", true}, {twice, "2026-10-25T00:30:00Z", false}, {twice, "2026-10-25T01:15:00Z", true}, {twice, "2026-10-25T01:30:00Z", false},
		{week, "2026-03-06T21:00:00Z", true}, {week, "2026-03-05T20:00:00Z", false}, {week, "2026-03-07T04:59:00Z", true}, {week, "2026-03-07T12:00:00Z", true},
		{week, "2026-03-09T00:00:00Z", false}, {week, "2026-03-09T04:00:00Z", false}, // Sunday's night is not Monday's
		{declared(), "2026-03-09T00:00:00Z", true},
		{declared("22:00-06:00 Europe/Berlin", "22-6"), "2026-03-09T12:00:00Z", true}, // who knows
		{declared("22:00-06:00 Nowhere"), "2026-03-09T12:00:00Z", true},
		{declared("Mon-Fri 22:00-06:00 Local"), "2026-03-09T12:00:00Z", true},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		require.NoError(t, err)
		if tt.in.Outside(at) == tt.open {
			t.Errorf("%v at %s: open %v, want %v", tt.in.Fields, tt.at, !tt.open, tt.open)
		}
	}
}
