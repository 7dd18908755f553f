package accesslog

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// TestARequestThatWasRefusedUnheardAccusesNobody: nginx answers 400 to a stray % before it reads header fields, and writes
// "-" for the agent. Such a line fits an exchange, and is nobody's if it fits none.
func TestARequestThatWasRefusedUnheardAccusesNobody(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	lines := []string{
		`127.0.0.1 - - [01/Mar/2026:12:00:00 +0000] "GET /robots.txt HTTP/1.1" 200 5 "-" "` + ourAgent + `"`,
		`127.0.0.1 - - [01/Mar/2026:12:00:20 +0000] "GET /n%zz1 HTTP/1.1" 400 157 "-" "-"`,
		`127.0.0.1 - - [01/Mar/2026:12:00:40 +0000] "GET /x%00y HTTP/1.1" 400 157 "-" ""`,
		`127.0.0.1 - - [01/Mar/2026:12:01:00 +0000] "GET /end HTTP/1.1" 200 5 "-" "` + ourAgent + `"`,
	}
	es := []*evidence.Exchange{
		asked("http://a.test/robots.txt", noon, 0, 200), asked("http://a.test/n%zz1", noon.Add(20*time.Second), 0, 400),
		asked("http://a.test/x%00y", noon.Add(40*time.Second), 0, 400), asked("http://a.test/end", noon.Add(time.Minute), 0, 200),
	}
	stranger := `127.0.0.1 - - [01/Mar/2026:12:00:30 +0000] "GET /%zz2 HTTP/1.1" 400 157 "-" "-"`
	asJSON := `{"time_iso8601":"2026-03-01T12:00:20+00:00","remote_addr":"127.0.0.1","request":"GET /n%zz1 HTTP/1.1","status":400,"http_user_agent":""}`
	for name, c := range map[string]struct {
		lines []string
		from  string
		want  string
	}{
		"as nginx has it":      {lines: lines},
		"with another's":       {lines: append(lines[:4:4], stranger)},
		"as JSON":              {lines: []string{lines[0], asJSON, lines[2], lines[3]}},
		"one less":             {lines: []string{lines[0], lines[2], lines[3]}, want: "log-missing"},
		"another status":       {lines: []string{lines[0], strings.Replace(lines[1], " 400 ", " 404 ", 1), lines[2], lines[3]}, want: "log-missing"},
		"from there, one more": {lines: append(lines[:4:4], stranger), from: "127.0.0.0/8", want: "log-extra"},
		"from there":           {lines: lines, from: "127.0.0.0/8"},
	} {
		o := Options{Logs: []Log{{Path: logFile(t, strings.Join(c.lines, "\n")+"\n")}}, TempDir: t.TempDir()}
		if c.from != "" {
			o.From = []netip.Prefix{netip.MustParsePrefix(c.from)}
		}
		if r, found := witnessed(t, Compare(o), es...); codesOf(found) != c.want || c.want == "" && r.Level != audit.ConfirmedByLog {
			t.Errorf("%s: %q, want %q; %s %+v", name, codesOf(found), c.want, r.Level, found)
		}
	}
}

// TestALogAloneHoldsNoAgentAgainstWhatWasRefusedUnheard: a server that answers before it reads header fields knows no
// agent; in any other line, one that is missing was not sent.
func TestALogAloneHoldsNoAgentAgainstWhatWasRefusedUnheard(t *testing.T) {
	for line, want := range map[string]int64{
		`192.0.2.9 - - [01/Mar/2026:12:00:20 +0000] "GET /n%zz1 HTTP/1.1" 400 157 "-" "-"`: 0,
		`192.0.2.9 - - [01/Mar/2026:12:00:20 +0000] "GET /n HTTP/1.1" 494 157 "-" ""`:      0,
		`192.0.2.9 - - [01/Mar/2026:12:00:20 +0000] "GET /n HTTP/1.1" 200 157 "-" "-"`:     1,
		`192.0.2.9 - - [01/Mar/2026:12:00:20 +0000] "GET /n HTTP/1.1" 400 157 "-" "x/1"`:   1,
	} {
		r, err := Judge(t.Context(), JudgeOptions{
			Logs: []Log{{Path: logFile(t, line+"\n")}}, Token: "curtsy", From: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")}, TempDir: t.TempDir(),
		})
		must(t, err)
		got := int64(0)
		for _, n := range r.Counts {
			if n.Code == finding.UserAgent {
				got = n.Found
			}
		}
		if got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}
