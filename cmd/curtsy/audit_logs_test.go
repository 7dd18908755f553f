package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/audit"
)

// A log without an archive is judged by the robots.txt and the token that are given; compressed, or from standard input.
func TestAuditOfAnAccessLogAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	robots, log := filepath.Join(dir, "robots.txt"), filepath.Join(dir, "access.log.gz")
	const line = `192.0.2.9 - - [01/Mar/2026:12:00:0%] "GET /# HTTP/1.1" 200 5 "-" "Wget/1.21"` + "\n"
	text := ""
	for i, path := range []string{"robots.txt", "a", "no/b"} {
		text += strings.NewReplacer("%", string(rune('0'+3*i))+" +0000", "#", path).Replace(line)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for path, octets := range map[string]string{robots: "User-agent: *\nDisallow: /no\n", log: b.String()} {
		if err := os.WriteFile(path, []byte(octets), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := inside(t, "audit", "--access-log", log, "--robots", robots, "--agent", "wget")
	r.want(t, cli.ExitFound)
	for _, says := range []string{"1 violation in 3 exchanges with 1 host", "Level reached: access log alone", "disallowed: 1", "line 3: asked for", "What this cannot show"} {
		if !strings.Contains(r.out, says) {
			t.Errorf("the text lacks %q:\n%s", says, r.out)
		}
	}
	r = inside(t, "audit", "--json", "--access-log", "a.test="+log, "--robots", "b.test="+robots, "--agent", "wget", "--html", filepath.Join(dir, "a.html"))
	r.want(t, cli.ExitDone)
	var got audit.Result
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Level != audit.LogAlone || got.Totals.Unprovable == 0 {
		t.Errorf("%v, %+v", err, got)
	}
	inside(t, "audit", "--access-log", log, "--robots", robots).want(t, cli.ExitUsage, "--agent TOKEN")
	inside(t, "audit", "--access-log", log, "--agent", "nobody").want(t, cli.ExitFailed, "no line of the access logs is the crawler's")
	inside(t, "audit", "--robots", robots, dir).want(t, cli.ExitUsage, "--robots is for access logs without an archive")
	inside(t, "audit", "--access-log", robots, "--agent", "wget").want(t, cli.ExitFailed, "line 1: no time in brackets")
}
