package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// https://httpd.apache.org/docs/2.4/logs.html and https://nginx.org/en/docs/http/ngx_http_log_module.html
func TestReadsBothFormats(t *testing.T) {
	for _, c := range []struct {
		line string
		want line
	}{
		{`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /a?b=c HTTP/1.1" 200 17`,
			line{remote: "192.0.2.1", time: noon, method: "GET", target: "/a?b=c", status: 200}},
		{`192.0.2.1 - - [01/Mar/2026:13:00:00 +0100] "GET / HTTP/1.1" 304 - "-" "curtsy/1 (+https://o.example)"`,
			line{remote: "192.0.2.1", time: noon, method: "GET", target: "/", status: 304, agent: "curtsy/1 (+https://o.example)", combined: true}},
		{`2001:db8::1 - - [01/Mar/2026:06:30:00 -0530] "HEAD /%22 HTTP/1.0" 404 0 "http://a.example/" "-" "1.2.3.4" more`,
			line{remote: "2001:db8::1", time: noon, method: "HEAD", target: "/%22", status: 404, combined: true}},
		{`shop.example:443 192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`,
			line{vhost: "shop.example:443", remote: "192.0.2.1", time: noon, method: "GET", target: "/", status: 200, agent: "x", combined: true}},
		{`[2001:db8::9]:80 2001:db8::1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`,
			line{vhost: "[2001:db8::9]:80", remote: "2001:db8::1", time: noon, method: "GET", target: "/", status: 200, agent: "x", combined: true}},
		{`Shop.example host.client.example - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1`,
			line{remote: "Shop.example", time: noon, method: "GET", target: "/", status: 200}},
		{`client.example - Frank [the] Smith [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 401 1`,
			line{remote: "client.example", time: noon, method: "GET", target: "/", status: 401}},
		{`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /\"q\\\x41\t\xZZ HTTP/1.1" 200 1 "\"" "a \"b\" \x5c"`,
			line{remote: "192.0.2.1", time: noon, method: "GET", target: "/\"q\\A\txZZ", status: 200, agent: `a "b" \`, combined: true}},
		{`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "\x16\x03\x01" 400 150 "-" "-"`,
			line{remote: "192.0.2.1", time: noon, cut: true, status: 400, combined: true}},
		{`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "-" 408 0 "-" "-"`, line{remote: "192.0.2.1", time: noon, cut: true, status: 408, combined: true}},
		{`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /old" 200 5`,
			line{remote: "192.0.2.1", time: noon, method: "GET", target: "/old", cut: true, status: 200}},
		{`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /a b HTTP/1.1" 200 5`,
			line{remote: "192.0.2.1", time: noon, method: "GET", target: "/a b", status: 200}},
		{`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET http://a.example:80/p?u=http://b/ HTTP/1.1" 200 5`,
			line{remote: "192.0.2.1", time: noon, method: "GET", target: "/p?u=http://b/", status: 200}},
		{`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /?u=http://b/ HTTP/1.1" 200 5`,
			line{remote: "192.0.2.1", time: noon, method: "GET", target: "/?u=http://b/", status: 200}},
	} {
		if got, err := parseLine([]byte(c.line)); err != nil || got != c.want {
			t.Errorf("%s\n got %+v, %v\nwant %+v", c.line, got, err, c.want)
		}
	}
}

func TestLines_NamesInvalid(t *testing.T) {
	for text, want := range map[string]error{
		``:      errTime,
		`hello`: errTime,
		`192.0.2.1 - - 01/Mar/2026:12:00:00 +0000 "GET / HTTP/1.1" 200 1`:                         errTime,
		`192.0.2.1 - - [01/Mar/2026:12:00:00] "GET / HTTP/1.1" 200 1`:                             errTime, // without its zone
		`192.0.2.1 - - [41/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1`:                       errTime,
		`[01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1`:                                     errClient,
		`192.0.2.1 - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 1`:                         errClient,
		`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1 200 1`:                        errRequest,
		`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1\" 200 1`:                      errRequest,
		`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] GET / 200 1`:                                  errRequest,
		`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 2000 1`:                      errStatus,
		`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1"`:                             errStatus,
		`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200`:                         errSize,
		`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 many "-" "-"`:            errSize,
		`{"time":"2026-03-01T12:00:00Z","request":"GET / HTTP/1.1","status":200,"agent":"curtsy"`: errJSON,
	} {
		if got, err := parseLine([]byte(text)); !errors.Is(err, want) || got != (line{}) {
			t.Errorf("%q: %+v, %v; want %v", text, got, err, want)
		}
	}
}

func TestALogIsReadToItsEnd(t *testing.T) {
	good := `192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /%d HTTP/1.1" 200 1`
	text := fmt.Sprintf(good, 1) + "\r\n\nrubbish\n" + strings.Repeat("x", 3*maxLine) + "\n" + fmt.Sprintf(good, 2)
	var got []string
	for l, err := range lines(strings.NewReader(text)) {
		var u *unread
		switch {
		case errors.As(err, &u):
			got = append(got, fmt.Sprintf("%d unread", u.line))
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, fmt.Sprintf("%d %s", l.number, l.target))
		}
	}
	assert.Equal(t, "1 /1, 3 unread, 4 unread, 5 /2", strings.Join(got, ", "))
}

func TestClientsByAddress(t *testing.T) {
	ours := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/28"), netip.MustParsePrefix("2001:db8::/64")}
	for remote, want := range map[string]bool{
		"192.0.2.15": true, "192.0.2.16": false, "::ffff:192.0.2.1": true, "2001:db8::1": true, "2001:db8:1::": false, "name.example": false,
	} {
		assert.Equal(t, want, (&line{remote: remote}).from(ours), remote)
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add(`192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /\"q\\\x41 HTTP/1.1" 200 1 "-" "a \"b\""`)
	f.Add(`- - - [01/Mar/2026:12:00:00 +0000] "GET /q TTP/1.1" 200 -`)
	f.Add(`a.example:80 2001:db8::1 - x y [01/Mar/2026:12:00:00 -0700] "-" 408 -`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseLine([]byte(text))
		if err != nil {
			return
		}
		request := "-"
		if l.method != "" {
			request = l.method + " " + l.target
		}
		if l.method != "" && !l.cut {
			request += " HTTP/1.1"
		}
		again := fmt.Sprintf("- - - [%s] %s %03d -", l.time.Format(timeForm), quoted(request), l.status)
		if l.combined {
			again += ` "-" ` + quoted(l.agent)
		}
		got, err := parseLine([]byte(again))
		l.vhost, l.remote = "", "-"
		if i := strings.LastIndex(l.target, " HTTP/"); err == nil && (i >= 0 || strings.Contains(l.target, "://")) {
			got.target = l.target // a request line within a request line has no single reading
		}
		if err != nil || got != l {
			t.Fatalf("%s\n got %+v, %v\nwant %+v", again, got, err, l)
		}
	})
}

func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if c := s[i]; 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02X`, c)
		}
	}
	return b.String() + `"`
}

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text)) // a bytes.Buffer never fails
	require.NoError(t, z.Close())
	return b.String()
}

func zstandard(t testing.TB, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer z.Close()
	return string(z.EncodeAll([]byte(text), nil))
}

func readAll(t *testing.T, path, stdin string) string {
	t.Helper()
	var got []string
	err := each(t.Context(), path, strings.NewReader(stdin), func(l numbered) error {
		got = append(got, fmt.Sprintf("%d %s", l.number, l.target))
		return nil
	}, func(u *unread) { got = append(got, u.Error()) })
	if err != nil {
		got = append(got, "error: "+err.Error())
	}
	return strings.Join(got, ", ")
}

func TestLogs_EveryFormatAndCompression(t *testing.T) {
	line := func(n int) string {
		return fmt.Sprintf("192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] \"GET /%d HTTP/1.1\" 200 1\n", n)
	}
	two := line(1) + line(2)
	var random strings.Builder // it does not compress well, so that a torn file has whole lines
	for i := range 3000 {
		random.WriteString(line(i * i * 7919))
	}
	whole := gzipped(t, random.String())
	for name, c := range map[string]struct{ file, want string }{
		"plain":                 {two, "1 /1, 2 /2"},
		"a mark and CRLF":       {"\ufeff" + strings.ReplaceAll(two, "\n", "\r\n"), "1 /1, 2 /2"},
		"gzip":                  {gzipped(t, two), "1 /1, 2 /2"},
		"gzip in two members":   {gzipped(t, line(1)) + gzipped(t, line(2)), "1 /1, 2 /2"},
		"zstd":                  {zstandard(t, two), "1 /1, 2 /2"},
		"zstd in two frames":    {zstandard(t, line(1)) + zstandard(t, line(2)), "1 /1, 2 /2"},
		"empty":                 {"", ""},
		"a gzip header":         {"\x1f\x8b\x08", "error: its gzip header: unexpected EOF"},
		"bzip2":                 {"BZh91AY&SY", "error: it is compressed, and neither with gzip nor with zstd: unpack it first"},
		"a flaw in the middle":  {whole[:len(whole)/2] + strings.Repeat("\xff", 300) + whole[len(whole)/2:], "error: line"},
		"torn":                  {whole[:len(whole)/2], ": the file ends within its compressed data"},
		"a WARC taken for one":  {"WARC/1.1\r\nWARC-Type: warcinfo\r\n\r\n", "error: no lines in the Common or the Combined Log Format, or objects of JSON: line 1: no time with its zone in brackets, as in [01/Mar/2026:12:00:00 +0000]"},
		"a line without an end": {strings.Repeat("x", 3*maxLine), fmt.Sprintf("line 1: longer than %d bytes", maxLine)},
	} {
		got := readAll(t, logFile(t, c.file), "")
		switch {
		case strings.HasPrefix(c.want, "error: line") && strings.Contains(got, c.want), strings.HasPrefix(c.want, ": ") && strings.HasSuffix(got, c.want),
			strings.HasPrefix(c.want, "error: no lines") && strings.HasSuffix(got, c.want), strings.HasPrefix(c.want, "line 1") && strings.HasPrefix(got, c.want):
		case got != c.want:
			t.Errorf("%s: %.300q, want %q", name, got, c.want)
		}
		if c.file != "" && readAll(t, Stdin, c.file) != got {
			t.Errorf("%s: from standard input it is another", name)
		}
	}
	assert.Equal(t, "error: it is a folder: name the files in it", readAll(t, t.TempDir(), ""))
}

func TestJSONLinesAreRead(t *testing.T) {
	want := line{remote: "192.0.2.1", time: noon, method: "GET", target: "/a?b", status: 200, agent: "curtsy/1", combined: true}
	for text, host := range map[string]string{
		`{"time_iso8601":"2026-03-01T12:00:00+00:00","remote_addr":"192.0.2.1","request":"GET /a?b HTTP/1.1","status":200,"http_user_agent":"curtsy/1"}`:                                             "",
		`{"time_local":"01/Mar/2026:13:00:00 +0100","remote_addr":"192.0.2.1","request_method":"GET","request_uri":"/a?b","status":"200","http_user_agent":"curtsy/1","host":"A.test"}`:              "a.test",
		`{"level":"info","ts":1772366400.93,"request":{"remote_ip":"192.0.2.1","method":"GET","host":"a.test:8443","uri":"/a?b","headers":{"User-Agent":["curtsy/1"]}},"duration":0.1,"status":200}`: "a.test:8443",
		`{"timestamp":"2026-03-01T12:00:00.123Z","client_ip":"192.0.2.1","method":"GET","path":"/a?b","status":200,"user_agent":"curtsy/1"}`:                                                         "",
		`{"msec":"1772366400.123","remote_addr":"192.0.2.1","request":"GET /a?b HTTP/2.0","status":"200","http_user_agent":"curtsy/1","server_name":"a.test"}`:                                       "a.test",
		`{"time":1772366400123,"remote_addr":"192.0.2.1","request":"GET http://a.test/a?b HTTP/1.1","status":"200","agent":"curtsy/1"}`:                                                              "",
	} {
		want.vhost = host
		if got, err := parseLine([]byte(text)); err != nil || got != want {
			t.Errorf("%s\n got %+v, %v\nwant %+v", text, got, err, want)
		}
	}
	for _, text := range []string{`{}`, `{"time":"yesterday","request":"GET / HTTP/1.1","status":200}`, `{"time":1,"request":"GET / HTTP/1.1","status":2000}`,
		`{"time":1e300,"request":"GET / HTTP/1.1","status":200}`, `{"time":"NaN","request":"GET / HTTP/1.1","status":200}`, `{"time":1,"status":200}`} {
		_, err := parseLine([]byte(text))
		assert.ErrorIs(t, err, errJSONFields, text)
	}
}
