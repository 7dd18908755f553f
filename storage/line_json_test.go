package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var full = Line{
	Time: time.Date(2026, 3, 4, 5, 6, 7, 89_012_999, time.FixedZone("", 3600)),
	URL:  "http://a.test/x?a=1&b=<2>", Via: "http://a.test/v", Kind: "link", Depth: 3, Seed: "http://a.test/", Tag: "tags \"é\"",
	Decision: "deny", Reason: "disallowed", Own: true,
	RobotsLine: 7, RobotsRule: "Disallow: /x", RobotsGroup: "*", RunnerUp: "Allow: /", RobotsSHA256: "00ff", RobotsRecord: "urn:uuid:0", Standard: "rfc9309",
	Pace: 1500 * time.Millisecond, PaceBy: "crawl-delay", Gap: 1500_020_999, Rest: 5 * time.Second, RestBy: "retry-after",
	Modified: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Holds: time.Minute,
	Attempt: 2, Change: "changed", Began: time.Date(2026, 3, 4, 4, 6, 6, 89_012_999, time.UTC), Took: 999*time.Millisecond + 1, FirstByte: 7 * time.Millisecond,
	Addr: netip.MustParseAddrPort("[2001:db8::1]:443"), Proxy: "http://proxy.test:3128", Outcome: "disallowed", Interim: 2, Status: 200, Type: "text/html", Octets: 12, Payload: "aa00",
	Truncated: "length", Record: "urn:uuid:1", Blocks: "bb22", Heads: "cc33", Ahead: 3 * time.Second, Count: 4,
	List: "11ee", Directives: "noindex, nofollow", Asked: "X-Robots-Tag: none\nmeta robots: all", Prefs: "header tdm-reservation: 1", NeedsScript: true,
}

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		line Line
		want string
	}{
		{"all fields, in the schema's order", full, `{"time":"2026-03-04T04:06:07.089012Z","url":"http://a.test/x?a=1&b=<2>",` +
			`"kind":"link","depth":3,"decision":"deny","reason":"disallowed",` +
			`"own":true,"line":7,"rule":"Disallow: /x","group":"*","runner_up":"Allow: /","robots_sha256":"00ff","robots_record":"urn:uuid:0",` +
			`"standard":"rfc9309","pace_ms":1500,"pace_by":"crawl-delay","gap_ms":1500.02,"attempt":2,` +
			`"began":"2026-03-04T04:06:06.089012Z","took_ms":999,"first_byte_ms":7,"address":"[2001:db8::1]:443","proxy":"http://proxy.test:3128",` +
			`"outcome":"disallowed","interim":2,"status":200,"type":"text/html","octets":12,"payload_sha256":"aa00","truncated":"length","rest_ms":5000,"rest_by":"retry-after",` +
			`"record":"urn:uuid:1","blocks_sha256":"bb22","heads_sha256":"cc33","clock_ahead_ms":3000,"modified":"2026-03-01T00:00:00.000000Z","holds_ms":60000,"change":"changed","count":4,"list_sha256":"11ee","directives":"noindex, nofollow",` +
			`"asked":["X-Robots-Tag: none","meta robots: all"],"prefs":["header tdm-reservation: 1"],"needs_script":true,` +
			`"via":"http://a.test/v","seed":"http://a.test/","tag":"tags \"é\""}`},
		{"empty values are omitted", Line{Time: time.Unix(0, 0), URL: "http://a.test/", Decision: "scope"},
			`{"time":"1970-01-01T00:00:00.000000Z","url":"http://a.test/","decision":"scope"}`},
		{"a required delay of 0 is written", Line{Time: time.Unix(1, 0), URL: "u", Decision: "allow", PaceBy: "floor"},
			`{"time":"1970-01-01T00:00:01.000000Z","url":"u","decision":"allow","pace_ms":0,"pace_by":"floor"}`},
	} {
		assert.Equal(t, c.want, string(c.line.AppendJSON(nil)), c.name)
	}
}

func TestMillisAreCutToTheMicrosecond(t *testing.T) {
	for d, want := range map[time.Duration]string{
		999: "0", 1000: "0.001", 10_000: "0.01", 100_000: "0.1", 1_000_000: "1", 1_020_000: "1.02", 1_999_999: "1.999",
		-1_500_000: "-1.5", -999: "0", 1<<63 - 1: "9223372036854.775", -1 << 63: "-9223372036854.775",
	} {
		assert.Equalf(t, want, string(appendMillis(nil, d)), "%d ns", d)
	}
}

func TestStringsAreHostile(t *testing.T) {
	for in, want := range map[string]string{
		``:                  `""`,
		"a\"b\\c/":          `"a\"b\\c/"`,
		"\x00\n\r\t\x1b[0m": `"\u0000\u000a\u000d\u0009\u001b[0m"`,
		"del\x7fc1\u009b":   `"del\u007fc1\u009b"`,
		"ls\u2028ps\u2029":  `"ls\u2028ps\u2029"`,
		"bidi\u202eevil":    `"bidi\u202eevil"`,
		"bad\xffutf\xc3":    `"bad\ufffdutf\ufffd"`,
		"München 漢 😀":       `"München 漢 😀"`,
		"tag\U000e0041":     `"tag\udb40\udc41"`,
		"\ufeff\ufffd":      `"\ufeff` + "\ufffd\"",
	} {
		assert.Equal(t, want, string(AppendString(nil, in)), in)
	}
}

// A line is printable text that encoding/json reads, and ParseLine returns the Line, except invalid UTF-8 and fractions
// of a microsecond.
func FuzzLine(f *testing.F) {
	f.Add("http://a.test/", "Disallow: /\xff\u2028", "floor", int64(1), int64(1500), int64(-1), 3)
	f.Add("\x00\"\\\x7f\U000e0041", "", "", int64(-1), int64(0), int64(1<<62), 0)
	f.Fuzz(func(t *testing.T, url, rule, by string, µs, pace, gap int64, n int) {
		µs %= 200_000_000_000_000_000 // within the years of RFC 3339
		if µs < 0 {
			µs = -µs
		}
		l := Line{
			Time: time.UnixMicro(µs), URL: url, Seed: rule, Tag: by, Decision: Decision(url), Reason: rule, RobotsLine: n, List: by, Directives: rule, Asked: url + "\n" + rule, Prefs: by,
			RobotsRule: rule, RobotsSHA256: by, Standard: url, Pace: time.Duration(pace), PaceBy: PaceBy(by),
			Gap: time.Duration(gap), Attempt: n, Outcome: Outcome(rule), Status: n, Record: url,
		}
		b := l.AppendJSON([]byte("before"))
		b, ok := bytes.CutPrefix(b, []byte("before"))
		require.Truef(t, ok && bytes.IndexByte(b, '\n') < 0 && json.Valid(b), "%q", b)
		for s := b; len(s) > 0; {
			r, k := utf8.DecodeRune(s)
			require.Truef(t, strconv.IsPrint(r), "%q in %q", r, b)
			s = s[k:]
		}
		var m map[string]any
		require.NoError(t, json.Unmarshal(b, &m))
		valid := func(s string) string { return string([]rune(s)) } // one U+FFFD for each bad byte
		require.Falsef(t, m["url"] != valid(url) || m["decision"] != valid(url) || rule != "" && m["rule"] != valid(rule), "%q %q: read %v", url, rule, m)
		got, err := ParseLine(b)
		require.NoError(t, err)
		want := l
		for _, s := range []*string{&want.URL, &want.Seed, &want.Tag, &want.Reason, &want.RobotsRule,
			&want.RobotsSHA256, &want.Standard, &want.Record,
			&want.List, &want.Directives, &want.Asked, &want.Prefs} {
			*s = valid(*s)
		}
		want.Decision, want.PaceBy, want.Outcome = Decision(valid(url)), PaceBy(valid(by)), Outcome(valid(rule))
		want.Time = want.Time.UTC()
		want.Pace, want.Gap = want.Pace.Truncate(time.Microsecond), want.Gap.Truncate(time.Microsecond)
		require.Truef(t, got == want, "\n got %+v\nwant %+v", got, want)
	})
}

func TestEveryFieldIsKept(t *testing.T) {
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		assert.Truef(t, !v.Field(i).IsZero(), "the example sets no %s", v.Type().Field(i).Name)
	}
	got, err := ParseLine(full.AppendJSON(nil))
	want := full
	want.Time, want.Gap = want.Time.UTC().Truncate(time.Microsecond), want.Gap.Truncate(time.Microsecond)
	want.Began, want.Took = want.Began.Truncate(time.Microsecond), want.Took.Truncate(time.Microsecond)
	assert.Truef(t, err == nil && got == want, "\n got %+v, %v\nwant %+v", got, err, want)
}

func TestAppendAllocatesNothing(t *testing.T) {
	b := make([]byte, 0, 4096)
	long := full
	long.RobotsRule = strings.Repeat("\x00\xff漢", 100)
	assert.EqualValues(t, 0, testing.AllocsPerRun(100, func() { b = long.AppendJSON(b[:0]) }), "allocations for a line")
}

func TestSchemaGrows(t *testing.T) {
	l, err := ParseLine([]byte(`{"time":"2026-01-01T00:00:00.000000Z","url":"u","decision":"d","later":["x"],"gap_ms":9007199254740.993}`))
	assert.Truef(t, err == nil && l.URL == "u" && l.Gap == 9007199254740993*time.Microsecond, "%+v, %v", l, err)
}

// oddForms are lines that JSON readers interpret differently.
var oddForms = map[string]string{
	"a name twice":               `{"url":"a","url":"b"}`,
	"an unknown name twice":      `{"url":"a","later":1,"later":2}`,
	"a name twice within a list": `{"url":"a","later":[{"x":1,"x":2}]}`,
	"a name in capitals":         `{"URL":"a"}`,
	"a name with an escape":      `{"\u0075rl":"a"}`,
	"an empty name":              `{"":1}`,
	"white space":                `{"url": "a"}`,
	"white space within a list":  `{"asked":["a", "b"]}`,
	"white space before it":      ` {"url":"a"}`,
	"two newlines behind it":     "{\"url\":\"a\"}\n\n",
	"a carriage return":          "{\"url\":\"a\"}\r\n",
	"a time with an offset":      `{"time":"2026-01-01T00:00:00.000000+00:00","url":"a"}`,
	"a time in seconds":          `{"began":"2026-01-01T00:00:00Z","url":"a"}`,
	"a time in nanoseconds":      `{"modified":"2026-01-01T00:00:00.000000001Z","url":"a"}`,
	"deep nesting":               `{"later":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`,
}

func TestParseLine_RefusesOtherForms(t *testing.T) {
	for name, line := range oddForms {
		l, err := ParseLine([]byte(line))
		assert.Errorf(t, err, "%s: %s: %+v", name, line, l)
	}
	for name, line := range map[string]string{
		"its newline":             "{\"url\":\"a\"}\n",
		"a blank within a string": `{"url":"a","rule":"Disallow: /\"{ [","later":{"x":[{"y":1},{"y":2}],"url":1}}`,
	} {
		l, err := ParseLine([]byte(line))
		assert.Truef(t, err == nil && l.URL == "a", "%s: %s: %+v, %v", name, line, l, err)
	}
}

func TestLine_WithheldFieldsFollowSalt(t *testing.T) {
	salt := Salt{0xab}
	l := Line{Time: time.Unix(0, 0), URL: "http://a.test/", Via: "http://v.test/", Seed: "s", Tag: "t", Decision: "allow"}
	public := `{"time":"1970-01-01T00:00:00.000000Z","url":"http://a.test/","decision":"allow"`
	want := public + `,"salt":"ab000000000000000000000000000000","via":"http://v.test/","seed":"s","tag":"t"}`
	got := string(l.AppendSalted(nil, &salt))
	assert.Truef(t, got == want, "%s, want %s", got, want)
	l.Time = l.Time.UTC()
	if got, err := ParseLine([]byte(want)); err != nil || got != l {
		t.Errorf("%+v, %v", got, err)
	}
	bare := Line{Time: l.Time, URL: l.URL, Decision: l.Decision}
	if got, want := string(bare.AppendSalted(nil, &salt)), public+`,"salt":"ab000000000000000000000000000000"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	nested := `{"url":"http://a.test/","x":{"y":1,"salt":"00"},"status":200,"decision":"d"}`
	if l, err := ParseLine([]byte(nested)); err == nil {
		t.Errorf("took a salt within a field: %+v", l)
	}
	var many strings.Builder // to compare a million of them with each other would take minutes
	for i := range maxNames {
		fmt.Fprintf(&many, `,"x%d":0`, i)
	}
	assert.ErrorContains(t, CheckForm([]byte(`{"url":""`+many.String()+`}`)), "names")
	for _, more := range []string{`"url":"http://b.test/"`, `"later":1`, `"salt":"00"`} {
		l, err := ParseLine([]byte(strings.TrimSuffix(want, "}") + "," + more + "}"))
		assert.Errorf(t, err, "took %s behind the salt: %+v", more, l)
	}
}
