package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
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

// violated lists the codes of violations.
func violated(r *audit.Result) (all []string) {
	for _, c := range r.Counts {
		if c.Found > c.Notes {
			all = append(all, string(c.Code))
		}
	}
	return all
}

// namedBy fails unless the audit ends with exit code 3 and names the code among its violations, in the text as well.
func namedBy(t *testing.T, code finding.Code, args ...string) {
	t.Helper()
	r, exit := audited(t, args...)
	if exit != cli.ExitFound || !slices.Contains(violated(r), string(code)) {
		b, _ := json.MarshalIndent(r.Findings, "", " ")
		t.Errorf("exit code %d, %v; want %s\n%.4000s", exit, violated(r), code, b)
	}
	if text := shared(t, append([]string{"audit"}, args...)...); text.code != cli.ExitFound || !strings.Contains(text.out, "  "+string(code)+": ") {
		t.Errorf("exit code %d\n%s", text.code, text.out)
	}
}

// The scoreboard with all that misbehaves is crawled politely, whatever a site answers, and the audit says so.
func TestAuditOfTheScoreboardIsClean(t *testing.T) {
	t.Parallel()
	if !full() {
		t.Skip("minutes")
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
