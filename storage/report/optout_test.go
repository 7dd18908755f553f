package report_test

import (
	"testing"
	"time"

	"curtsy/storage"

	"github.com/stretchr/testify/assert"
)

func TestReport_PartlyOptedOutHost(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	out := func(host string) storage.Line {
		return storage.Line{Time: now, URL: "http://" + host + "/b", Decision: "opt-out", Outcome: "dropped", Reason: "opt-out"}
	}
	page := func(host string) storage.Line {
		return storage.Line{Time: now, Began: now, URL: "http://" + host + "/a", Decision: "allow", Outcome: "fetched", Attempt: 1, Status: 200, Type: "text/html"}
	}
	lines := []storage.Line{page("all.example"), out("all.example"), out("part.example"), page("part.example"), out("part.example")}
	r := report1(t, made(t, lines...))
	got := map[string]string{}
	for _, h := range r.Hosts {
		got[h.Name] = h.State
	}
	assert.Truef(t, got["http://all.example:80"] == "opted out" && got["http://part.example:80"] == "answers", "%v", got)
}
