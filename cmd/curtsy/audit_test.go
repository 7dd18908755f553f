package main

import (
	"encoding/json"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/audit"
)

func audited(t *testing.T, args ...string) (*audit.Result, int) {
	t.Helper()
	r := shared(t, append([]string{"audit", "--json"}, args...)...)
	var got audit.Result
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("exit code %d: %v\n%s%s", r.code, err, r.out, r.err)
	}
	return &got, r.code
}

func clean(t *testing.T, args ...string) *audit.Result {
	t.Helper()
	r, exit := audited(t, args...)
	if exit != cli.ExitDone || !r.Clean {
		for _, f := range r.Findings {
			t.Errorf("%+v", f)
		}
		t.Fatalf("exit code %d, %+v", exit, r.Counts)
	}
	return r
}
