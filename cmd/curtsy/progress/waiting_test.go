package progress

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/status"
	"curtsy/storage/mirror"
)

// An idle crawl reports the hosts that it waits for, once, and what Ctrl-C would leave.
func TestACrawlSaysWhatItWaitsFor(t *testing.T) {
	dead := status.Resting{Host: "http://dead.test", Condition: "parked", Reason: "robots.txt: nxdomain", Wait: 53, Pending: 3}
	later := status.Resting{Host: "http://later.test", Condition: "parked", Reason: "status 503, Retry-After 2m0s", Wait: 120, Pending: 1}
	gone := status.Resting{Host: "http://gone.test", Condition: "refused", Reason: "status 403", Pending: 2}
	const ctrlC = "; Ctrl-C ends the crawl now and leaves %s for curtsy resume"
	for name, c := range map[string]struct {
		looks []status.Status
		want  []string
	}{
		"work is left": {[]status.Status{{State: "running", Queued: 9, Resting: []status.Resting{dead}}}, []string{""}},
		"one rests": {[]status.Status{{State: "running", Queued: 3, Resting: []status.Resting{dead}}, {State: "running", Queued: 3, Resting: []status.Resting{dead}}},
			[]string{"only hosts in back-off are left: http://dead.test (robots.txt: no such host); next request in 53s" + fmt.Sprintf(ctrlC, "3 URLs"), ""}},
		"another joins": {[]status.Status{{State: "running", Queued: 3, Resting: []status.Resting{dead}}, {State: "running", Queued: 6, Resting: []status.Resting{dead, later, gone}}},
			[]string{"only hosts in back-off are left: http://dead.test (robots.txt: no such host); next request in 53s" + fmt.Sprintf(ctrlC, "3 URLs"),
				"only hosts in back-off are left: http://dead.test (robots.txt: no such host), http://later.test (status 503, Retry-After 2m0s); next request in 53s" + fmt.Sprintf(ctrlC, "6 URLs")}},
		"of an earlier run": {[]status.Status{{State: "running", Queued: 5, Resting: []status.Resting{dead}, Longest: []status.Queue{{Host: "http://a.test", Pending: 2, Wait: 40, Pace: 1}}}},
			[]string{"only hosts in back-off are left: http://a.test (its next request is not due yet), http://dead.test (robots.txt: no such host); next request in 40s" + fmt.Sprintf(ctrlC, "5 URLs")}},
		"of its pace":        {[]status.Status{{State: "running", Queued: 2, Longest: []status.Queue{{Host: "http://a.test", Pending: 2, Wait: 1, Pace: 1}}}}, []string{""}},
		"nobody to wait for": {[]status.Status{{State: "running", Queued: 2, Resting: []status.Resting{gone}}}, []string{""}},
		"no answer": {[]status.Status{{State: "running", InFlight: 2, Exchanges: 4, Longest: []status.Queue{{Host: "http://a.test", Pending: 2}}}, {State: "running", InFlight: 2, Exchanges: 4, Longest: []status.Queue{{Host: "http://a.test", Pending: 2}}}},
			[]string{"", "waiting for responses from http://a.test" + fmt.Sprintf(ctrlC, "2 URLs")}},
		"only begun": {[]status.Status{{State: "running", InFlight: 1, Longest: []status.Queue{{Host: "http://a.test", Pending: 1}}}, {State: "running", InFlight: 1, Longest: []status.Queue{{Host: "http://a.test", Pending: 1}}}},
			[]string{"", "waiting for responses from http://a.test" + fmt.Sprintf(ctrlC, "1 URL")}},
		"answers come": {[]status.Status{{State: "running", InFlight: 2, Exchanges: 4}, {State: "running", InFlight: 2, Exchanges: 5}}, []string{"", ""}},
		"over":         {[]status.Status{{State: "finished"}}, []string{""}},
	} {
		var w waiting
		for i, s := range c.looks {
			assert.Equalf(t, c.want[i], w.look(s), "%s, look %d", name, i+1)
		}
	}
}

func TestAMirrorShowsItsProgress(t *testing.T) {
	var b bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		var p mirror.Progress
		v := &Display{w: &b}
		err := v.WhileMirrored(context.Background(), &p, func() error {
			p.Read.Add(7)
			time.Sleep(10*time.Second + 1)
			p.Total.Store(10_000)
			p.Written.Store(2500)
			time.Sleep(11 * time.Second)
			return nil
		})
		assert.NoError(t, err)
	})
	assert.Equal(t, "00:10 mirror: reading the archive  7 URLs, 0.70/s\n00:20 mirror: writing  2500 of 10000 URLs, 25 %, 125/s, 1 min left\n", b.String())
}
