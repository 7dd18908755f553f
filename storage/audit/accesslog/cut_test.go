package accesslog

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// TestARequestLineThatTheServerCutAccusesNobody: these lines are those that nginx 1.22 wrote for such requests. It writes
// what it has read of a request line that is longer than its buffer, nothing of one that it cannot read, and in JSON
// ($request_uri, $host) less than that.
func TestARequestLineThatTheServerCutAccusesNobody(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	long := "/" + strings.Repeat("a", 9000)
	at := func(s int, rest string) string {
		return "192.0.2.9 - - [" + noon.Add(time.Duration(s)*time.Second).Format(timeForm) + "] " + rest + "\n"
	}
	json := func(s int, method, target, status string) string {
		return `{"time_iso8601":"` + noon.Add(time.Duration(s)*time.Second).Format(time.RFC3339) + `","remote_addr":"192.0.2.9","host":"","request_method":"` + method +
			`","request_uri":"` + target + `","status":` + status + `,"http_user_agent":""}` + "\n"
	}
	robots, end := at(0, `"GET /robots.txt HTTP/1.1" 200 5 "-" "`+ourAgent+`"`), at(100, `"GET /end HTTP/1.1" 200 5 "-" "`+ourAgent+`"`)
	middle := at(50, `"GET /1 HTTP/1.1" 200 5 "-" "`+ourAgent+`"`)
	archive := func(target string, status int) []*evidence.Exchange {
		return []*evidence.Exchange{
			asked("http://a.test/robots.txt", noon, 0, 200), asked("http://a.test"+target, noon.Add(20*time.Second), 0, status),
			asked("http://a.test/1", noon.Add(50*time.Second), 0, 200), asked("http://a.test/end", noon.Add(100*time.Second), 0, 200),
		}
	}
	nothing := archive("/x", 0)[2:]
	nothing = append(archive("/x", 0)[:1:1], nothing...)
	for name, c := range map[string]struct {
		es   []*evidence.Exchange
		line string
		from bool
		want string
	}{
		"414":                             {es: archive(long, 414), line: at(20, `"GET `+long[:8186]+`" 414 177 "-" "-"`)},
		"414, from there":                 {es: archive(long, 414), line: at(20, `"GET `+long[:8186]+`" 414 177 "-" "-"`), from: true},
		"414, of Apache":                  {es: archive(long, 414), line: at(20, `"GET `+long+`" 414 177 "-" "-"`)},
		"414 in JSON":                     {es: archive(long, 414), line: json(20, "", "", "414")},
		"414 of another":                  {es: archive(long, 414), line: at(20, `"GET /b`+long[:8186]+`" 414 177 "-" "-"`), want: "log-missing"},
		"414 at another time":             {es: archive(long, 414), line: at(30, `"GET `+long[:8186]+`" 414 177 "-" "-"`), want: "log-missing"},
		"414, and the archive has 200":    {es: archive(long, 200), line: at(20, `"GET `+long[:8186]+`" 414 177 "-" "-"`), want: "log-missing"},
		"414, not logged":                 {es: archive(long, 414), want: "log-missing"},
		"400 in JSON":                     {es: archive("/%zz", 400), line: json(20, "GET", "", "400")},
		"400 in JSON, with a dash":        {es: archive("/%zz", 400), line: json(20, "GET", "-", "400")},
		"400 of nothing":                  {es: archive("/%zz", 400), line: at(20, `"" 400 0 "-" "-"`)},
		"400 of a dash":                   {es: archive("/%zz", 400), line: at(20, `"-" 400 0 "-" "-"`)},
		"400 with the agent":              {es: archive("/nohost", 400), line: at(20, `"GET /nohost HTTP/1.1" 400 157 "-" "`+ourAgent+`"`)},
		"400 of a stray %":                {es: archive("/n%zz1", 400), line: at(20, `"GET /n%zz1 HTTP/1.1" 400 157 "-" "-"`)},
		"400, and no agent":               {es: archive("/x%00y", 400), line: at(20, `"GET /x%00y HTTP/1.1" 400 157 "-" ""`)},
		"400 of a stray %, from there":    {es: archive("/n%zz1", 400), line: at(20, `"GET /n%zz1 HTTP/1.1" 400 157 "-" "-"`), from: true},
		"400 of a stray % in JSON":        {es: archive("/n%zz1", 400), line: json(20, "GET", "/n%zz1", "400")},
		"400 of a stray %, and another's": {es: archive("/n%zz1", 400), line: at(20, `"GET /n%zz1 HTTP/1.1" 400 157 "-" "-"`) + at(30, `"GET /%zz2 HTTP/1.1" 400 157 "-" "-"`)},
		"400 of a stray %, not logged":    {es: archive("/n%zz1", 400), want: "log-missing"},
		"404 instead of 400":              {es: archive("/n%zz1", 400), line: at(20, `"GET /n%zz1 HTTP/1.1" 404 157 "-" "-"`), want: "log-missing"},
		"404, and the line is cut":        {es: archive("/old", 404), line: at(20, `"GET /o" 404 157 "-" "-"`), want: "log-missing"},
		"499":                             {es: archive("/slow", 0), line: at(20, `"GET /slow HTTP/1.1" 499 0 "-" "`+ourAgent+`"`)},
		"444":                             {es: archive("/gone", 0), line: at(20, `"GET /gone HTTP/1.1" 444 0 "-" "`+ourAgent+`"`)},
		"499 that the archive lacks":      {es: nothing, line: at(20, `"GET /slow HTTP/1.1" 499 0 "-" "`+ourAgent+`"`), want: "log-extra"},
		"408 of half a request":           {es: archive("/half", 0), line: at(22, `"GET /ha" 408 0 "-" "-"`)},
		"408 of half, from there":         {es: archive("/half", 0), line: at(22, `"GET /ha" 408 0 "-" "-"`), from: true, want: "(log-extra)"},
		"408 of nothing, from there":      {es: nothing, line: at(20, `"-" 408 0 "-" "-"`), from: true, want: "(log-extra)"},
		"TLS, from there":                 {es: nothing, line: at(20, `"\x16\x03\x01\x02\x00\x01\x00\x01" 400 157 "-" "-"`), from: true, want: "(log-extra)"},
		"a whole 400, from there":         {es: nothing, line: at(20, `"GET /%zz HTTP/1.1" 400 157 "-" "-"`), from: true, want: "log-extra"},
		"half a 200, from there":          {es: nothing, line: at(20, `"GET /old" 200 157 "-" "-"`), from: true, want: "log-extra"},
		"a second 414, and one is logged": {es: append(archive(long, 414), asked("http://a.test"+long, noon.Add(35*time.Second), 0, 414)), line: at(20, `"GET `+long[:8186]+`" 414 177 "-" "-"`), want: "log-missing"},
	} {
		o := Options{TempDir: t.TempDir(), Whole: true, Logs: []Log{{Path: logFile(t, robots+c.line+middle+end)}}}
		if c.from {
			o.From = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}
		r, found := witnessed(t, Compare(o), c.es...)
		if h := r.Logs[0]; codesOf(found) != c.want || c.want == "" && r.Level != audit.ConfirmedByLog || h.Agree+h.Missing+h.Uncovered+h.Unanswered != h.Exchanges || h.Unread > 0 {
			t.Errorf("%s: %q, want %q; %+v\n%+v", name, codesOf(found), c.want, h, found)
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
		require.NoError(t, err)
		got := int64(0)
		for _, n := range r.Counts {
			if n.Code == finding.UserAgent {
				got = n.Found
			}
		}
		assert.Equal(t, want, got, line)
	}
}

// TestALogAloneHoldsNoRulesAgainstARequestThatWasCut: nobody knows which page it was to be.
func TestALogAloneHoldsNoRulesAgainstARequestThatWasCut(t *testing.T) {
	const agent = `"curtsy/1"`
	text := `192.0.2.9 - - [01/Mar/2026:12:00:00 +0000] "GET /robots.txt HTTP/1.1" 200 5 "-" ` + agent + "\n"
	for _, line := range []string{`"GET /a" 414 0 "-" "-"`, `"-" 408 0 "-" "-"`, `"" 400 0 "-" "-"`, `"\x16\x03" 400 0 "-" "-"`} {
		text += "192.0.2.9 - - [01/Mar/2026:12:01:00 +0000] " + line + "\n"
	}
	text += `192.0.2.9 - - [01/Mar/2026:12:02:00 +0000] "GET /a/b HTTP/1.1" 200 5 "-" ` + agent + "\n"
	r, err := Judge(t.Context(), JudgeOptions{
		Logs: []Log{{Path: logFile(t, text)}}, Robots: []Robots{{Path: logFile(t, "User-agent: *\nDisallow: /a\nAllow: /a/b\n")}}, Token: "curtsy", Floor: 20 * time.Second,
		From: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")}, TempDir: t.TempDir(),
	})
	if err != nil || !r.Clean || r.Totals.Unprovable == 0 {
		t.Errorf("%v %+v", err, r)
	}
}
