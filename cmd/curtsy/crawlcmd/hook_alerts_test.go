package crawlcmd

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/status"
)

const enough = int64(1e12) // bytes that are free

// told are the alerts of a look.
func told(x *alerts, at time.Duration, s status.Status, free int64) string {
	var all []string
	for _, a := range x.Look(time.Unix(0, 0).Add(at), s, free) {
		all = append(all, strings.TrimSpace(a.Name+" "+a.Host))
	}
	return strings.Join(all, ", ")
}

// Each condition is told once while it lasts, and again when it has ended and begins anew, but not more than twice an hour.
func TestAnAlertIsToldOnceWhileItLasts(t *testing.T) {
	no, yes := status.Status{State: "running"}, status.Status{State: "running", Resting: []status.Resting{
		{Host: "http://a.test", Condition: "parked", Reason: "robots.txt: status 503", Wait: 60}}}
	var x alerts
	for _, tt := range []struct {
		at   time.Duration
		s    status.Status
		want string
	}{
		{0, no, ""}, {10 * time.Second, yes, "robots http://a.test"}, {20 * time.Second, yes, ""}, {time.Hour, yes, ""},
		{2 * time.Hour, no, ""}, {2*time.Hour + time.Minute, yes, "robots http://a.test"}, {2*time.Hour + 2*time.Minute, no, ""},
		{2*time.Hour + 3*time.Minute, yes, ""}, {2*time.Hour + 40*time.Minute, yes, "robots http://a.test"},
	} {
		assert.Equalf(t, tt.want, told(&x, tt.at, tt.s, enough), "after %v", tt.at)
	}
}

func TestEachConditionIsFound(t *testing.T) {
	rest := func(condition, reason string) []status.Resting {
		return []status.Resting{{Host: "http://a.test", Condition: condition, Reason: reason}}
	}
	for _, tt := range []struct {
		s    status.Status
		free int64
		want string
	}{
		{status.Status{}, enough, ""},
		{status.Status{Resting: rest("retired", "status 403")}, enough, "refused http://a.test"},
		{status.Status{Resting: rest("refused", "status 451")}, enough, "refused http://a.test"},
		{status.Status{Resting: rest("retired", "max-per-host")}, enough, ""},
		{status.Status{Resting: rest("parked", "hours: closed now")}, enough, ""},
		{status.Status{Resting: rest("parked", "timeout"), Failures: map[string]int64{"timeout": 5}}, enough, "unreachable http://a.test"},
		{status.Status{Reasons: map[string]map[string]int64{"dropped": {"trap:template": 3}}}, enough, "trap"},
		{status.Status{Quarantined: 1}, enough, "quarantine"},
		{status.Status{}, 1e9, "disk"},
		{status.Status{}, 0, ""},
		{status.Status{Exchanges: 100, Failures: map[string]int64{"dns": 26}}, enough, "failing"},
		{status.Status{Exchanges: 100, Failures: map[string]int64{"dns": 25}}, enough, ""},
		{status.Status{Exchanges: 100, Failures: map[string]int64{"429": 6}}, enough, "slow-down"},
		{status.Status{Exchanges: 10, Failures: map[string]int64{"dns": 10}}, enough, ""},
	} {
		var x alerts
		tt.s.State = "running"
		told(&x, 0, status.Status{State: "running"}, enough)
		assert.Equal(t, tt.want, told(&x, 10*time.Minute, tt.s, tt.free), tt.s)
	}
}

// A crawl that waits for its window, or is paused, does not stall, and one that was so before is none of this run.
func TestOnlyARunningCrawlStalls(t *testing.T) {
	for state, want := range map[string]string{"running": "stalled", "waiting": "", "paused": ""} {
		var x alerts
		var all []string
		for at := time.Duration(0); at < 3*time.Hour; at += time.Minute {
			if got := told(&x, at, status.Status{State: state, Queued: 3, Exchanges: 7}, enough); got != "" {
				all = append(all, got)
			}
		}
		assert.Equal(t, want, strings.Join(all, ", "), state)
	}
}

// A thousand hosts that fail at once are no thousand mails.
func TestAlertsAreBoundedByTheHour(t *testing.T) {
	var x alerts
	told(&x, 0, status.Status{}, enough)
	s, n := status.Status{State: "running"}, 0
	for i := range 100 {
		s.Resting = append(s.Resting, status.Resting{Host: fmt.Sprintf("http://%d.test", i), Condition: "retired", Reason: "status 403"})
	}
	for at := 10 * time.Second; at < 2*time.Hour; at += 10 * time.Second {
		n += len(x.Look(time.Unix(0, 0).Add(at), s, enough))
	}
	assert.Equal(t, 2*mostHour, n, "alerts in two hours")
}

// The disk is looked at from the beginning on, and an end comes at once.
func TestFollowTellsUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var all []string
		follow(ctx, func(context.Context) (status.Status, error) { return status.Status{State: "running"}, nil }, func() int64 { return 1 },
			func(a alert, _ status.Status) { all = append(all, a.Name) })
		assert.Equalf(t, disk, strings.Join(all, " "), "%q", all)
	})
}
