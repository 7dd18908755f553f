package report_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/report"
	"curtsy/storage/scratch"
	"curtsy/storage/warc"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

var update = flag.Bool("update", false, "write the golden files anew")

var start = time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC)

func made(t testing.TB, lines ...storage.Line) report.Options {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "news")
	o := report.Options{
		Dir: dir, Ledger: filepath.Join(dir, "ledger"), WARC: filepath.Join(dir, "warc"),
		Software: "curtsy/0.1.0", Now: start.Add(48 * time.Hour),
	}
	w, err := ledger.Open(ledger.Options{Dir: o.Ledger})
	require.NoError(t, err)
	for _, l := range lines {
		require.NoError(t, w.Append(t.Context(), l))
	}
	require.NoError(t, w.Close())
	return o
}

func archived(t testing.TB, o report.Options, info warc.Info) report.Options {
	t.Helper()
	w, err := warc.Open(warc.Options{Dir: o.WARC, Name: "curtsy", Info: info})
	require.NoError(t, err)
	head := "HTTP/1.1 404 Not Found\r\n\r\n"
	_, err = w.Record(t.Context(), storage.Record{
		URL: "http://example.org/robots.txt", Time: start, Addr: netip.MustParseAddrPort("192.0.2.1:80"), Request: []byte("GET /robots.txt HTTP/1.1\r\n\r\n"),
		Response: io.NewSectionReader(strings.NewReader(head), 0, int64(len(head))), HeadSize: int64(len(head)),
	})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return o
}

func report1(t testing.TB, o report.Options) *report.Report {
	t.Helper()
	r, err := report.Make(t.Context(), o)
	require.NoError(t, err)
	return r
}

func render(t testing.TB, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteHTML(&b))
	return b.String()
}

func world() (lines []storage.Line) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	add := func(l storage.Line) { lines = append(lines, l) }
	// exchange adds an exchange that began at s seconds.
	exchange := func(s float64, url string, l storage.Line) {
		l.URL, l.Began, l.Took, l.FirstByte, l.Attempt = url, at(s), ms(40), ms(12), max(l.Attempt, 1)
		l.Time = l.Began.Add(l.Took)
		if l.PaceBy == "" {
			l.Pace, l.PaceBy = time.Second, "floor"
		}
		if l.Octets == 0 {
			l.Octets = 18_000
		}
		if l.Decision == "" {
			l.Decision, l.Standard, l.Seed, l.Reason = "allow", "rfc9309", "https://news.example/", cmpOr(l.Reason, "no match")
		}
		add(l)
	}
	robots := func(s float64, host string, status int, reason string) {
		exchange(s, host+"/robots.txt", storage.Line{Decision: "robots", Standard: "rfc9309", Status: status, Reason: reason, Octets: 700, RobotsSHA256: strings.Repeat("ab", 32)})
	}
	robots(0, "https://news.example", 200, "")
	for i := range 120 {
		gap := 1000.2 + float64(i*i%37)*3
		l := storage.Line{Status: 200, Type: "text/html", Outcome: "fetched", Gap: ms(gap), Octets: int64(12_000 + i*731%9000)}
		if i%9 == 4 {
			l.Type, l.Octets = "image/png", 90_000
		}
		if i%7 == 3 {
			l.Pace, l.PaceBy, l.Gap = ms(1400+float64(i)), "response time", ms(1400+float64(i)+float64(i%5)*30)
		}
		if i == 11 {
			l.RobotsLine, l.RobotsRule, l.RobotsGroup, l.RunnerUp, l.Reason = 9, "Allow: /archive/2026", "*", "Disallow: /archive/", "allow rule"
		}
		if i == 50 {
			l.Directives, l.Asked = "noindex, nofollow", "meta robots: noindex, nofollow"
		}
		if i%3 == 0 {
			l.Prefs = "robots content-signal: search=yes, ai-train=no\nheader tdm-reservation: 1"
		}
		exchange(1.1+1.2*float64(i), fmt.Sprintf("https://news.example/archive/article-%03d", i), l)
	}
	for i := range 7 {
		add(storage.Line{
			Time: at(30 + float64(i)), URL: fmt.Sprintf("https://news.example/search?q=%d", i), Decision: "disallow", Outcome: "disallowed", Reason: "disallow rule",
			Standard: "rfc9309", RobotsLine: 4, RobotsRule: "Disallow: /search", RobotsGroup: "*", Seed: "https://news.example/", Kind: "link", Depth: 2,
		})
	}
	add(storage.Line{
		Time: at(40), URL: "https://news.example/search?q=more", Decision: "refuse", Outcome: "dropped", Reason: "trap:repeat", Count: 4200, Kind: "link",
	})
	exchange(90, "https://news.example/gone", storage.Line{Status: 404, Type: "text/html", Outcome: "gone", Reason: "status 404", Gap: ms(1500)})
	exchange(92, "https://news.example/old", storage.Line{Status: 301, Outcome: "redirected", Reason: "to https://news.example/new", Gap: ms(1001)})
	exchange(95, "https://news.example/huge.iso", storage.Line{Status: 200, Type: "application/octet-stream", Outcome: "fetched", Reason: "truncated: length", Truncated: "length", Gap: ms(1100), Octets: 104_857_600})
	robots(3, "http://slow.example", 200, "")
	for i := range 12 {
		exchange(5+10.4*float64(i), fmt.Sprintf("http://slow.example/p/%d", i), storage.Line{
			Status: 200, Type: "text/html", Outcome: "fetched", Pace: 10 * time.Second, PaceBy: "crawl-delay", Gap: ms(10_000.4 + float64(i*700)),
		})
	}
	exchange(140, "http://slow.example/busy", storage.Line{Status: 429, Outcome: "deferred", Reason: "status 429", Pace: 10 * time.Second, PaceBy: "crawl-delay", Gap: ms(10_100)})
	exchange(145, "http://slow.example/shy", storage.Line{Record: "urn:uuid:00000000-0000-4000-8000-000000000001", Outcome: "failed", Reason: "timeout", Pace: 10 * time.Second, PaceBy: "crawl-delay", Gap: ms(9_999.999)})
	robots(6, "http://down.example", 503, "status 503")
	for i := range 3 {
		add(storage.Line{Time: at(7), URL: fmt.Sprintf("http://down.example/%d", i), Decision: "disallow", Outcome: "disallowed", Reason: "unreachable", Standard: "rfc9309"})
	}
	add(storage.Line{Time: at(8), URL: "http://private.example/", Decision: "opt-out", Outcome: "dropped", Reason: "opt-out", RobotsLine: 2, RobotsRule: "private.example"})
	add(storage.Line{Time: at(9), URL: "http://elsewhere.example/", Decision: "refuse", Outcome: "dropped", Reason: "scope:host"})
	add(storage.Line{Time: at(9), URL: "mailto:someone@news.example", Decision: "refuse", Outcome: "dropped", Reason: "scheme"})
	robots(10, "http://127.0.0.1:8080", 404, "status 404")
	lines[len(lines)-1].Own = true
	for i := range 6 {
		exchange(10.1+0.05*float64(i), fmt.Sprintf("http://127.0.0.1:8080/%d", i), storage.Line{Own: true, Status: 200, Type: "text/html", Outcome: "fetched", PaceBy: "floor", Gap: ms(0.4 + float64(i))})
	}
	return lines
}

func whole(t testing.TB) report.Options {
	o := archived(t, made(t, world()...), warc.Info{
		Software: "curtsy/0.1.0", Operator: "Example Library", Contact: "crawl@library.example", RobotsPolicy: "rfc9309",
		UserAgent: "libbot/0.1.0 (+crawl@library.example) curtsy/0.1.0", Description: "an archive of the regional news",
		Fields: warc.Fields{{Name: "pace-floor-ms", Value: "1000"}, {Name: "keep-noarchive", Value: "false"}},
	})
	o.Settings = []report.Setting{{Name: "max-pages", Value: "500", Default: "0"}, {Name: "scope", Value: "domain", Default: "host"}}
	o.Audit = audits(report.Audit{
		Level: "self-consistent", Violations: 1, CannotShow: []string{"That the clock was right."},
		Findings: []report.AuditFinding{{Code: "gap", Meaning: "the pause since the host's last exchange was too short", Violation: true, Count: 1, Samples: []string{"http://slow.example/shy"}}},
	})
	return o
}

func audits(a report.Audit) func(context.Context) (report.Audit, error) {
	return func(context.Context) (report.Audit, error) { return a, nil }
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func TestJSONFormIsTheDocumentedOne(t *testing.T) {
	for name, host := range map[string]string{"crawl": "", "host": "slow.example"} {
		o := whole(t)
		o.Host = host
		r := report1(t, o)
		require.Truef(t, len(r.Crawl.By) == 1 && r.Crawl.By[0].Since != "", "the operator: %+v", r.Crawl.By)
		r.Crawl.By[0].Since = "2026-05-03T10:00:00Z"
		require.Truef(t, len(r.Crawl.Runs) == 1 && r.Crawl.Clean && r.Crawl.Head != "", "how it ended: %+v", r.Crawl)
		r.Crawl.Runs, r.Crawl.Head = []report.Run{{Began: start, Ended: "2026-05-03T10:02:30Z"}}, strings.Repeat("0f", 32)
		r.Crawl.Ended = "Ended normally, 2026-05-03 10:02:30 UTC."
		var b bytes.Buffer
		require.NoError(t, r.WriteJSON(&b))
		golden(t, name+".json", b.Bytes())
		if dir := os.Getenv("CURTSY_PAGES"); dir != "" { // to look at
			require.NoError(t, durable.File(filepath.Join(dir, name+".html"), r.WriteHTML))
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equalf(t, bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")), got, "%s differs; look at it, and run with -update if it is right", path)
}

func TestEveryFieldOfTheJSONFormIsDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "report.md"))
	require.NoError(t, err)
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || typ == reflect.TypeFor[time.Time]() {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			assert.Falsef(t, !regexp.MustCompile("[`.\"]"+regexp.QuoteMeta(name)+"[`\"]").Match(b) && name != "crawl", "%s.%s is not documented", typ.Name(), name)
			walk(typ.Field(i).Type)
		}
	}
	walk(reflect.TypeFor[report.Report]())
	assert.GreaterOrEqualf(t, len(seen), 10, "only %d types", len(seen))
}
