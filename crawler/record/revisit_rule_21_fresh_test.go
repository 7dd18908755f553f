package record

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/fetch"
)

// RFC 9111, 4.2 and 4.2.3.
func TestRule21_FreshnessIsWhatTheServerSaid(t *testing.T) {
	got := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	const date = "Date: Thu, 01 Jan 2026 12:00:00 GMT\n"
	for _, c := range []struct {
		name, fields string
		life         time.Duration // fresh for so long from got; zero: never
	}{
		{"no field", date, 0},
		{"no heuristics", date + "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT", 0},
		{"max-age", "Cache-Control: max-age=600", 10 * time.Minute},
		{"without a value", "Cache-Control: max-age", 0},
		{"quoted, in any case", `cache-control: PUBLIC, Max-Age="600"`, 10 * time.Minute},
		{"s-maxage wins", "Cache-Control: max-age=600, s-maxage=60", time.Minute},
		{"max-age wins over Expires", date + "Cache-Control: max-age=60\nExpires: Fri, 02 Jan 2026 12:00:00 GMT", time.Minute},
		{"Expires - Date", date + "Expires: Thu, 01 Jan 2026 12:05:00 GMT", 5 * time.Minute},
		{"Expires without Date", "Expires: Thu, 01 Jan 2026 12:05:00 GMT", 0},
		{"Expires that is not a date", date + "Expires: 0", 0},
		{"Expires twice", date + "Expires: Thu, 01 Jan 2026 12:05:00 GMT\nExpires: Thu, 01 Jan 2026 12:06:00 GMT", 0},
		{"Age is taken off", "Cache-Control: max-age=600\nAge: 540", time.Minute},
		{"Age that cannot be read", "Cache-Control: max-age=600\nAge: -1", 0},
		{"an old Date is an age", "Date: Thu, 01 Jan 2026 11:55:00 GMT\nCache-Control: max-age=600", 5 * time.Minute},
		{"no-cache", "Cache-Control: max-age=600, no-cache", 0},
		{"no-cache for a field", `Cache-Control: max-age=600, no-cache="a, b"`, 0},
		{"no-store", "Cache-Control: max-age=600\nCache-Control: no-store", 0},
		{"private", "Cache-Control: private, max-age=600", 0},
		{"must-revalidate is about stale responses", "Cache-Control: max-age=600, must-revalidate", 10 * time.Minute},
		{"only must-revalidate", "Cache-Control: must-revalidate", 0},
		{"two values", "Cache-Control: max-age=600, max-age=60", 0},
		{"negative", "Cache-Control: max-age=-1", 0},
		{"none", "Cache-Control: max-age=0", 0},
		{"a quoted directive does not count", `Cache-Control: x="a, no-store", max-age=600`, 10 * time.Minute},
		{"Vary by fields that are the same in all requests", "Cache-Control: max-age=600\nVary: Accept-Encoding, Cookie", 10 * time.Minute},
		{"Vary by fields that may differ", "Cache-Control: max-age=600\nVary: accept-encoding\nVary: User-Agent", 0},
		{"Vary by anything", "Cache-Control: max-age=600\nVary: *", 0},
		{"Set-Cookie", "Cache-Control: max-age=600\nSet-Cookie: a=b", 0},
		{"Pragma", "Cache-Control: max-age=600\nPragma: no-cache", 0},
		{"more than a number holds", "Cache-Control: max-age=99999999999999999999", longestLife * time.Second},
	} {
		h := http.Header{}
		for line := range strings.SplitSeq(strings.TrimSpace(c.fields), "\n") {
			name, value, _ := strings.Cut(line, ":")
			h.Add(name, strings.TrimSpace(value))
		}
		for at, want := range map[time.Duration]bool{0: c.life > 0, c.life - 1: c.life > 0, c.life: false, -time.Second: false} {
			if c.life == 0 && at == -1 {
				continue
			}
			if Fresh(h, got, got.Add(at)) != want {
				t.Errorf("%s: after %v fresh is %v", c.name, at, !want)
			}
		}
	}
}

func TestRule21_OnlyEntityTagsGoBack(t *testing.T) {
	for tag, want := range map[string]bool{
		`"a"`: true, `W/"a"`: true, `""`: true, `"a,b"`: true,
		`"a b"`: true, "\"\xe9\x80\"": true, `"a\"`: true,
		"\"a\tb\"": false, "\"a\rb\"": false, "\"a\r\nX: y\"": false, "\"\x00\"": false, "\"\x7f\"": false, `"` + strings.Repeat("a", maxTag) + `"`: false,
		"": false, "*": false, "a": false, `"a`: false, `w/"a"`: false, `"a", "b"`: false, `W/`: false, `"`: false,
	} {
		if isTag(tag) != want {
			t.Errorf("%s is a tag: %v", tag, !want)
		}
	}
}

// RFC 9110, 5.6.7 and 13.1: a date is sent in its one valid form, a repeated field not at all.
func TestRule21_ConditionsAreWellFormed(t *testing.T) {
	const want = "Sun, 06 Nov 1994 08:49:37 GMT"
	body := func() (*io.SectionReader, io.Closer, error) { return nil, nil, nil }
	for _, c := range []struct {
		tags, dates        []string
		ifNone, ifModified string
	}{
		{nil, []string{want}, "", want},
		{nil, []string{"Sunday, 06-Nov-94 08:49:37 GMT"}, "", want},
		{nil, []string{"Sun Nov  6 08:49:37 1994"}, "", want},
		{nil, []string{"yesterday"}, "", ""},
		{nil, []string{want + "\r\nX: y"}, "", ""},
		{nil, []string{want, "Mon, 07 Nov 1994 08:49:37 GMT"}, "", ""},
		{[]string{`W/"a"`}, []string{want}, `W/"a"`, want},
		{[]string{`"a"`, `"b"`}, []string{want}, "", want},
	} {
		e := &Earlier{Status: 200, Body: body, Header: http.Header{"Etag": c.tags, "Last-Modified": c.dates}}
		var r fetch.Request
		if is := e.Condition(&r); r.IfNoneMatch != c.ifNone || r.IfModifiedSince != c.ifModified || is != (c.ifNone+c.ifModified != "") {
			t.Errorf("%q %q: %v %q %q", c.tags, c.dates, is, r.IfNoneMatch, r.IfModifiedSince)
		}
	}
}

// RFC 9111, 3.2 and 4.3.4.
func TestRule21_304ReplacesEarlierFields(t *testing.T) {
	kept := http.Header{"Etag": {`"a"`}, "Content-Type": {"text/html"}, "Content-Length": {"7"}, "Age": {"60"}, "X-Old": {"1"}, "X-Both": {"1", "2"}}
	said := http.Header{"Etag": {`W/"a"`}, "Content-Type": {"text/plain"}, "Content-Length": {"0"}, "X-Both": {"3"}, "Cache-Control": {"max-age=5"}}
	if !Confirms(said, kept) || Confirms(http.Header{"Etag": {`"b"`}}, kept) || !Confirms(http.Header{}, kept) {
		t.Error("it confirms another answer, or not its own")
	}
	h := Freshened(kept, said)
	for name, want := range map[string]string{
		"Etag": `W/"a"`, "Content-Type": "text/html", "Content-Length": "7", "Age": "", "X-Old": "1", "X-Both": "3", "Cache-Control": "max-age=5",
	} {
		assert.Equal(t, want, strings.Join(h.Values(name), ","), name)
	}
	if kept.Get("Age") != "60" || len(kept["X-Both"]) != 2 {
		t.Error("the fields before have changed")
	}
}
