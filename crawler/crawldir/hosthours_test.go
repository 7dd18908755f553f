package crawldir

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/storage/hostrule"
)

// The run is stopped, and then killed. The archive declares the limits to the audit.
func TestHoursAndRequestsInADayAreKeptAndDeclared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, s, o := piped(t, crawltest.Tree("bakery.test", 30))
		s.MaxWait, s.MaxTime = 72*time.Hour, 5*time.Minute
		s.Hosts = hostrule.Rules{{Match: "*.test", PerHostPerDay: 7, Hours: []string{"01:00-01:02", "23:00 - 23:01"}}}
		dir := created(t, &s, "http://bakery.test/")
		time.Sleep(time.Hour + 115*time.Second) // some seconds before the end of the first hours
		ran(t, dir, o)
		killedRun(t, dir, nil, o)
		s.MaxTime = 60 * time.Hour
		o.Settings = &s
		ran(t, dir, o)
		all := web.Referee().Requests()
		require.GreaterOrEqual(t, len(all), 14, "requests")
		for i, r := range all {
			at := r.Start.UTC()
			m := at.Hour()*60 + at.Minute()
			assert.Truef(t, m == 60 || m == 61 || m == 23*60, "%s at %v", r.Target, at)
			assert.Truef(t, i < 7 || r.Start.Sub(all[i-7].Start) >= 24*time.Hour, "%s at %v is the eighth of a day", r.Target, at)
		}
		audited(t, dir)
	})
}
