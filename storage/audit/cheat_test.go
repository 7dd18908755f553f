package audit

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"
)

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text)) // a bytes.Buffer never fails
	z.Close()
	return b.String()
}

// Retry-After is obeyed in each form that RFC 9110 has, and in those that it has not.
func TestEachFormOfRetryAfter(t *testing.T) {
	for _, c := range []struct {
		head  string
		until time.Duration // since day0
	}{
		{"Retry-After: 300\r\n", 302 * s},
		{"retry-after:\t300 \r\n", 302 * s},
		{"Retry-After:\r\n 300\r\n", 302 * s}, // folded
		{"retry-after: \r\n\t300\r\n", 302 * s},
		{"Retry-After: Sun, 01 Mar 2026 12:05:00 GMT\r\n", 300 * s},
		{"Retry-After: Sunday, 01-Mar-26 12:05:00 GMT\r\n", 300 * s},
		{"Retry-After: Sun Mar  1 12:05:00 2026\r\n", 300 * s},
		{"Retry-After: 5\r\n" + strings.Repeat("Retry-After: 1\r\n", 20) + "Retry-After: 300\r\nRetry-After: 7\r\n", 302 * s},
		{"Retry-After: 99999999999999999999999\r\n", 24 * time.Hour},
		{"Retry-After: 999999999\r\n", 24 * time.Hour},
		{"Retry-After: soon\r\n", 24 * time.Hour},
		{"Retry-After: 120, 300\r\n", 24 * time.Hour},
		{"Retry-After: -1\r\n", 24 * time.Hour},
	} {
		for _, next := range []struct {
			at   time.Duration
			want string
		}{{c.until - 5*s, "retry-after"}, {c.until + 5*s, ""}} {
			a := ours(t)
			a.robots("")
			a.add(fetch{url: site + "/a", at: 2 * s, status: 429, head: c.head})
			a.add(fetch{url: site + "/robots.txt", at: next.at})
			if r := a.audit(Options{}); codes(r) != next.want {
				t.Errorf("%q, %v: found %q, want %q%s", c.head, next.at, codes(r), next.want, shown(r))
			}
		}
	}
}

// A host that asked for more in between shows both paces, so that the least pause does not look like an offence.
func TestAHostShowsThePacesThatWereDue(t *testing.T) {
	a := ours(t)
	a.robots(rule)
	a.add(fetch{url: site + "/a", at: 2 * s})
	a.add(fetch{url: site + "/robots.txt", at: 4 * s, body: "User-agent: *\nCrawl-delay: 5\n"})
	a.add(fetch{url: site + "/b", at: 10 * s})
	r := a.audit(Options{})
	if h := r.Hosts[0]; !r.Clean || h.Required != 5 || h.Lowest != 1 || h.MinGap < 1 {
		t.Errorf("%s", shown(r))
	}
	same := ours(t)
	same.robots(rule)
	same.add(fetch{url: site + "/a", at: 2 * s})
	if h := same.audit(Options{}).Hosts[0]; h.Lowest != h.Required {
		t.Errorf("%+v", h)
	}
}
