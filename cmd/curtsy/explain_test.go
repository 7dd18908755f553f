package main

import (
	"encoding/json"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
)

// explainedAs asks for an explanation as JSON.
func explainedAs(t *testing.T, args ...string) explanation {
	t.Helper()
	r := inside(t, append([]string{"explain", "--json"}, args...)...)
	r.want(t, cli.ExitDone)
	var e explanation
	if err := json.Unmarshal([]byte(r.out), &e); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	return e
}

func TestAtIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	want := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for _, text := range []string{"2026-11-21T10:00:00Z", "2026-11-21 10:00", "2026-11-21T11:00:00+01:00", "2026-11-21 10:00:00", "-23h"} {
		if got, err := parseAt(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
