package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// Two requests of another crawler, half a second apart: polite by the standards, and not by our rules.
func TestAuditHoldsOthersToOurRulesWhenAsked(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, r := range []struct{ kind, target, date, block string }{
		{"request", "/robots.txt", "2026-03-01T12:00:00.000Z", "GET /robots.txt HTTP/1.1\r\nHost: bakery.test\r\nUser-Agent: Owl/1 (+https://owl.test)\r\n\r\n"},
		{"response", "/robots.txt", "2026-03-01T12:00:00.000Z", "HTTP/1.1 404 Not Found\r\n\r\n"},
		{"request", "/", "2026-03-01T12:00:00.500Z", "GET / HTTP/1.1\r\nHost: bakery.test\r\nUser-Agent: Owl/1 (+https://owl.test)\r\n\r\n"},
		{"response", "/", "2026-03-01T12:00:00.500Z", "HTTP/1.1 200 OK\r\n\r\n"},
	} {
		b.WriteString("WARC/1.1\r\nWARC-Type: " + r.kind + "\r\nWARC-Record-ID: <urn:test:" + r.kind + r.target + ">\r\nWARC-Date: " + r.date +
			"\r\nWARC-Target-URI: http://bakery.test" + r.target + "\r\nContent-Type: application/http; msgtype=" + r.kind +
			"\r\nContent-Length: " + strconv.Itoa(len(r.block)) + "\r\n\r\n" + r.block + "\r\n\r\n")
	}
	path := filepath.Join(t.TempDir(), "owl.warc")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ended(t, curtsy(t, "audit", path)).want(t, cli.ExitDone)
	strict := ended(t, curtsy(t, "audit", "--rules", "curtsy", path))
	strict.want(t, cli.ExitFound)
	if !strings.Contains(strict.out, "gap: 1") || !strings.Contains(strict.out, "politeness.md") {
		t.Errorf("it says %s", strict.out)
	}
	ended(t, curtsy(t, "audit", "--rules", "mine", path)).want(t, cli.ExitUsage)
}
