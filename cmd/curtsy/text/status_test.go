package text

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler"
	"curtsy/crawler/status"
)

func TestWatch_NextRoundOrEnd(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, w := range map[string]status.Watch{
		"a round is running": {URLs: 2},
		"2 URLs watched; the next round is not before 2026-01-02T03:04:05Z (min-interval, http://a.test/)": {Next: at, Why: "min-interval", URL: "http://a.test/", URLs: 2},
		"1 URL watched; no further round starts before the watch ends at 2026-01-02T03:04:05Z (--for)":     {Ends: at, URLs: 1},
	} {
		assert.Equal(t, want, Watch(w), w)
	}
}

func TestReasonsStandBehindTheirSum(t *testing.T) {
	got := Status(status.Status{
		Failures: map[string]int64{"status:429": 1, "status:5xx": 2}, NotRead: map[string]int64{"coding": 1},
		Links: map[string]int64{"scope:nofollow": 7}, Capped: map[string]int64{"cap: host": 3},
		Why: map[string]map[string]int64{"parked": {"a": 1, "b": 2}},
	}, "", time.Time{})
	for _, says := range []string{"\nerrors       3 requests (2 ", "\nnot read     1 (the answer's ", "\nnot followed 7 links (the page ", "\nover a limit 3 links (--max-urls-per-host is reached)", "\n  parked     3 (2 b, 1 a)"} {
		assert.Containsf(t, got, says, "%q is not in\n%s", says, got)
	}
}

func TestStatus_AfterAKillNamesResume(t *testing.T) {
	killed := status.Status{State: "stopped", Killed: true}
	running := killed
	running.State = "running"
	for i, s := range []status.Status{killed, running, {State: "stopped"}} {
		assert.Equal(t, (i == 0), strings.Contains(Status(s, "my crawl", time.Now()), "curtsy resume 'my crawl'"), s)
	}
}

func TestStatus_HostsThatTheirAddressLimits(t *testing.T) {
	for n, want := range map[int64]bool{0: false, 3: true} {
		assert.Equal(t, want, strings.Contains(Status(status.Status{LimitedByIP: n}, "", time.Time{}), "limited by IP: 3 hosts\n"), n)
	}
}

// A summary reports private hosts also if there are more than a status names.
func TestSummary_ManyPrivateHosts(t *testing.T) {
	t.Parallel()
	const reason = "robots.txt: private address (see --allow-net)"
	s := crawler.Summary{EndedBy: crawler.EndedWaiting, Status: status.Status{Elapsed: 1, Bytes: 1, Queued: 150, Why: map[string]map[string]int64{"retired": {reason: 150}}}}
	for range status.MaxResting {
		s.Status.Resting = append(s.Status.Resting, status.Resting{Condition: "retired", Reason: reason, Pending: 1})
	}
	if got := Summary(s, "d", true); !strings.Contains(got, "the remaining hosts have private addresses") || !strings.Contains(got, "--allow-net NETWORK") {
		t.Error(got)
	}
	s.Status.Why["parked"] = map[string]int64{"timeout": 1}
	assert.NotContains(t, Summary(s, "d", true), "private addresses")
}
