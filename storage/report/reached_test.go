package report_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
)

func TestReport_UnsentAttemptsAreNotExchanges(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	line := func(url string, l storage.Line) storage.Line {
		l.Time, l.Began, l.URL, l.Attempt = now, now, url, 1
		return l
	}
	const record = "urn:uuid:00000000-0000-4000-8000-000000000001"
	r := report1(t, made(t,
		line("http://a.example/robots.txt", storage.Line{Decision: "robots", Status: 404, Record: record}),
		line("http://a.example/", storage.Line{Decision: "allow", Outcome: "fetched", Status: 200, Record: record}),
		line("http://a.example/silent", storage.Line{Decision: "allow", Outcome: "failed", Reason: "timeout", Record: record}),
		line("http://a.example/nobody", storage.Line{Decision: "allow", Outcome: "failed", Reason: "connect", Pace: time.Minute, PaceBy: storage.ByErrors, Gap: time.Minute}),
		line("http://cut.example/robots.txt", storage.Line{Decision: "robots", Status: 200, Reason: "incomplete", Truncated: "disconnect", Record: record}),
		line("http://gone.example/robots.txt", storage.Line{Decision: "robots", Reason: "nxdomain"}),
	))
	if r.Totals.Exchanges != 4 || r.Totals.Unreached != 2 || r.Totals.RobotsAsked != 2 || r.Robots.Asked != 2 || r.Reached != 2 || r.Totals.Errors != 4 ||
		r.Totals.Gaps != 0 || r.Totals.PaceMs != 0 {
		t.Errorf("%d hosts, %+v, %+v", r.Reached, r.Totals, r.Robots)
	}
	failed := int64(0)
	for _, e := range r.Errors {
		failed += e.Count
	}
	assert.EqualValuesf(t, 4, failed, "%+v", r.Errors)
	got := map[string]string{}
	for _, h := range r.Hosts {
		got[h.Name] = h.State + ", " + h.Robots
	}
	want := map[string]string{
		"http://a.example:80": "last request not answered, none (status 404)", "http://cut.example:80": "not crawled, unavailable: incomplete",
		"http://gone.example:80": "not crawled, unavailable: nxdomain",
	}
	assert.Truef(t, maps.Equal(got, want), "%v", got)
}
