package crawldir

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/storage/hostrule"
)

// Hours and requests in a day that are set for a host are kept, over a stop and a kill as well, and the audit, which the archive
// tells of them, finds nothing.
func TestHoursAndRequestsInADayAreKeptAndDeclared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, s, o := piped(t, crawltest.Tree("bakery.test", 30))
		s.MaxWait, s.MaxTime = 72*time.Hour, 5*time.Minute
		s.Hosts = hostrule.Rules{{Match: "*.test", PerHostPerDay: 7, Hours: []string{"01:00-01:02", "23:00 - 23:01"}}}
		dir := created(t, &s, "http://bakery.test/")
		time.Sleep(time.Hour + 115*time.Second) // some seconds are left of the first hours
		if _, err := Run(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
		killedRun(t, dir, nil, o)
		s.MaxTime = 60 * time.Hour
		o.Settings = &s
		if _, err := Run(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
		all := web.Referee().Requests()
		require.GreaterOrEqual(t, len(all), 14, "requests")
		for i, r := range all {
			at := r.Start.UTC()
			if m := at.Hour()*60 + at.Minute(); m != 60 && m != 61 && m != 23*60 {
				t.Errorf("%s at %v", r.Target, at)
			}
			if i >= 7 && r.Start.Sub(all[i-7].Start) < 24*time.Hour {
				t.Errorf("%s at %v is the eighth of a day", r.Target, at)
			}
		}
		audited(t, dir)
	})
}
