package audit

import (
	"strings"
	"testing"

	"curtsy/storage"
)

// longHeads are heads up to the limit that a crawl takes, in one line, in many and in one that goes on.
func longHeads() map[string]string {
	const room = storage.MaxHead - 200
	return map[string]string{
		"one line of 40,000 octets":  "Set-Cookie: a=" + strings.Repeat("x", 40_000) + "\r\n",
		"one line as long as may be": "X: " + strings.Repeat("x", room) + "\r\n",
		"many lines":                 strings.Repeat("X: 1\r\n", room/6),
		"many folds":                 "X: 1\r\n" + strings.Repeat("\tx\r\n", room/4),
		"a name as long":             strings.Repeat("X", room) + ": 1\r\n",
	}
}

// A head that the crawl takes, the audit reads: what stands behind a long line counts, and so does the body.
func TestALongHeadIsRead(t *testing.T) {
	for name, long := range longHeads() {
		for _, head := range []string{long + "Cache-Control: max-age=600\r\n", "Cache-Control: max-age=600\r\n" + long} {
			a := ours(t)
			a.add(fetch{url: site + "/robots.txt", head: head, body: rule})
			a.add(fetch{url: site + "/private/open", at: 5 * s, meta: "decision: allow\r\n" + toldOpen + "robotsSha256: " + sha(rule) + "\r\n"})
			if r := a.audit(Options{}); !r.Clean || r.Hosts[0].Policy != "rules" {
				t.Errorf("%s: %q%s", name, codes(r), shown(r))
			}
			a.add(fetch{url: site + "/private/x", at: 20 * 60 * s})
			if r := a.audit(Options{}); codes(r) != "robots-expired disallowed" {
				t.Errorf("%s: %q%s", name, codes(r), shown(r))
			}
		}
	}
}
