package crawldir

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
)

// windowed is a crawl of a hundred pages, a minute each, from an instant on.
func windowed(t *testing.T, at time.Time, windows ...string) (web *crawltest.Web, dir string, s Settings, o Options) {
	t.Helper()
	time.Sleep(time.Until(at))
	web, s, o = piped(t, crawltest.Tree("bakery.test", 100))
	s.Delay, s.MaxWait, s.Window = time.Minute, 72*time.Hour, windows
	return web, created(t, &s, "http://bakery.test/"), s, o
}

// The run is killed in between. The archive declares the window to the audit.
func TestAWindowIsKeptThroughTheChangeOfTheClocks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for _, day := range []time.Time{
		time.Date(2000, 3, 26, 0, 0, 0, 0, berlin),  // 01:59 is followed by 03:00
		time.Date(2000, 10, 29, 0, 0, 0, 0, berlin), // 02:59 by 02:00
	} {
		synctest.Test(t, func(t *testing.T) {
			web, dir, s, o := windowed(t, day, "01:30-03:10 Europe/Berlin")
			short := s
			short.MaxTime = 2 * time.Hour
			killedRun(t, dir, &short, o)
			o.Settings = &s
			ran(t, dir, o)
			all := web.Referee().Requests()
			require.GreaterOrEqual(t, len(all), 100, "requests")
			for _, r := range all {
				at := r.Start.In(berlin)
				m := at.Hour()*60 + at.Minute()
				assert.Truef(t, m >= 90 && m < 190, "%s at %v", r.Target, at)
			}
			audited(t, dir)
		})
	}
}

func TestARunOutsideOfItsWindowIsRefusedWithTheNextOpening(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 20, 0, 0, time.UTC)
	for _, tt := range []struct {
		maxWait time.Duration
		windows []string
		want    string
	}{
		{10 * time.Minute, []string{"22:00-06:00 Europe/Berlin"}, "opens at Mon 2 Mar 22:00 CET, in 8h40m, which is later than --max-wait 10m allows: start then, or give --max-wait 9h"},
		{9 * time.Hour, []string{"22:00-06:00 Europe/Berlin"}, ""},
		{10 * time.Minute, []string{"12:00-13:00", "22:00-06:00"}, ""},
		{10 * time.Minute, []string{"none"}, ""},
		{10 * time.Minute, nil, ""},
		{10 * time.Minute, []string{"none", "12:00-13:00"}, `"none"`},
	} {
		s := Defaults()
		s.Window, s.MaxWait = tt.windows, tt.maxWait
		err := Opens(&s, at)
		var misuse *Misuse
		if tt.want == "" && err != nil || tt.want != "" && (!errors.As(err, &misuse) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q, %v: %v, want %q", tt.windows, tt.maxWait, err, tt.want)
		}
	}
}
