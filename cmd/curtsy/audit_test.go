package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/audit"
)

// audited runs audit --json in this process.
func audited(t *testing.T, args ...string) (*audit.Result, int) {
	t.Helper()
	r := shared(t, append([]string{"audit", "--json"}, args...)...)
	var got audit.Result
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("exit code %d: %v\n%s%s", r.code, err, r.out, r.err)
	}
	return &got, r.code
}

// clean fails unless an audit finds nothing.
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

// The scoreboard with all that misbehaves is crawled politely, whatever a site answers, and the audit says so.
func TestAuditOfTheScoreboardIsClean(t *testing.T) {
	t.Parallel()
	if !full() {
		t.Skip("it takes minutes; CURTSY_LONG=1 runs it")
	}
	dir := filepath.Join(t.TempDir(), "wing")
	args := slices.Clone(oursPolite)
	for i := range args {
		if args[i] == "{dir}" {
			args[i] = dir
		}
	}
	one := curtsy(t, append([]string{"crawltest", "score", "--all-hostile", "--quiet", "--timeout", "6m", "--token", "curtsy", "--", os.Args[0]}, args...)...)
	cmd := exec.CommandContext(t.Context(), one.Path, one.Args[1:]...) // it takes longer than a command may
	cmd.Env = one.Env
	ended(t, cmd)
	clean(t, dir)
}
