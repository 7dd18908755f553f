package report_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
)

func TestReport_FilesNamedInScripts(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	line := func(url string, o storage.Outcome, status int, reason string) storage.Line {
		return storage.Line{
			Time: now, Began: now, URL: url, Attempt: 1, Kind: storage.KindScript, Decision: "allow", Outcome: o, Status: status, Reason: reason,
			Record: "urn:uuid:00000000-0000-4000-8000-000000000001",
		}
	}
	r := report1(t, made(t,
		line("http://a.example/a.js", "fetched", 200, ""),
		line("http://a.example/b.js", "deferred", 500, "status 500"),
		line("http://a.example/b.js", "fetched", 200, ""),
		line("http://a.example/c.js", "gone", 404, "named by script: status 404"),
		line("http://a.example/d.js", "gone", 404, "named by script: status 404"),
		line("http://a.example/e.js", "gone", 404, "named by script: status 404"),
	))
	var got []string
	for _, c := range slices.Concat(r.Scripts, r.NotCrawled) {
		got = append(got, fmt.Sprint(c.Count, " ", c.Name))
	}
	want := []string{"3 not there", "2 found", "3 gone: named by script: status 404"}
	assert.Truef(t, slices.Equal(got, want), "%q, want %q", got, want)
	assert.Truef(t, len(r.Errors) == 1 && r.Errors[0].Count == 1, "errors: %+v", r.Errors)
	assert.Contains(t, render(t, r), "a word in a script looked like a file, but is not one", "the page does not explain it")
}
