package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// codesOf audits, and returns the codes of what was found: of notes, and of violations.
func codesOf(t *testing.T, u *lab, args ...string) (notes, violations []finding.Code, r audit.Result) {
	t.Helper()
	got := u.run(append([]string{"audit", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatalf("%v: %s", err, got.err)
	}
	for _, f := range r.Findings {
		to := &violations
		if f.Note {
			to = &notes
		}
		if !slices.Contains(*to, f.Code) {
			*to = append(*to, f.Code)
		}
	}
	return notes, violations, r
}

// The access log of the site has the requests that were taken down. They are no violation, and are named.
func TestForgettingIsSeenInAnAccessLog(t *testing.T) {
	t.Parallel()
	u, web, seed := diary(t, 6)
	dir := filepath.Join(t.TempDir(), "d")
	u.run("crawl", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	log := filepath.Join(t.TempDir(), "access.log")
	var b strings.Builder
	for _, r := range web.Referee().Requests() {
		fmt.Fprintf(&b, "127.0.0.1 - - [%s] \"GET %s HTTP/1.1\" %d 100 \"-\" %q\n", r.Start.UTC().Format("02/Jan/2006:15:04:05 -0700"), r.Target, r.Status, r.UserAgent)
	}
	if err := os.WriteFile(log, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	named := site(seed) + "=" + log
	if _, violations, _ := codesOf(t, u, "--access-log", named, dir); len(violations) > 0 {
		t.Fatalf("before: %v", violations)
	}
	u.run("redact", "--all", dir, seed+"p2.html").want(t, cli.ExitDone)
	notes, violations, _ := codesOf(t, u, "--access-log", named, dir)
	if len(violations) > 0 || !slices.Contains(notes, finding.TakenDown) {
		t.Errorf("notes %v, violations %v", notes, violations)
	}
}
