package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
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

// readAll tells what each found: targets, line numbers of what cannot be read, and the error.
func readAll(t *testing.T, path, stdin string) string {
	t.Helper()
	var got []string
	err := each(t.Context(), path, strings.NewReader(stdin), func(l numbered) error {
		got = append(got, fmt.Sprintf("%d %s", l.number, l.target))
		return nil
	}, func(u *unread) error { got = append(got, u.Error()); return nil })
	if err != nil {
		got = append(got, "error: "+err.Error())
	}
	return strings.Join(got, ", ")
}

// TestLogsAreReadHoweverTheyAreKept: plain, compressed by rotation, in several members, from standard input, and torn.
func TestLogsAreReadHoweverTheyAreKept(t *testing.T) {
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

// TestJSONLinesAreRead: nginx's variables and Caddy's objects; what lacks a time, a request or a status is named.
func TestJSONLinesAreRead(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
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
		if _, err := parseLine([]byte(text)); !errors.Is(err, errJSONFields) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
