//go:build peers

package cdxj_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/foreigntest"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/warc"
)

var spelled = []string{
	"http://a.test/", "https://a.test/", "http://www.a.test/", "http://www2.a.test/x", "https://www.www.a.test/", "http://wwwx.a.test/", "http://www/", "http://www.com/",
	"http://a.test", "http://a.test?", "http://a.test/?", "http://a.test/?&", "http://a.test/??a", "http://a.test/#f", "http://a.test/x#f?a=b",
	"http://A.TEST/Upper/Case?Q=Z&B=y", "http://a.test/?b=2&a=1&a=0&c", "http://a.test/?a=1&A=0&%61=2&é=1", "http://a.test/?a+b=c%20d&=", "http://a.test/?a;b&a'b",
	"http://a.test:80/", "http://a.test:443/", "https://a.test:443/", "https://a.test:8443/x", "http://a.test:00080/", "http://a.test:0/", "http://a.test:65535/",
	"http://127.0.0.1/", "http://127.0.0.1:8080/a", "http://0x7f.1/", "http://2130706433/x", "http://[::1]/", "http://[::1]:80/", "http://[::1]:8080/x", "http://[2001:DB8:0:0::00ff]/Y?z", "http://[::ffff:192.0.2.1]/",
	"http://bücher.test/ä?ö=ü", "http://xn--bcher-kva.test/", "http://BÜCHER.test/Ä", "http://例え.テスト/パス", "http://faß.test/",
	"http://a.test/%7Euser/%2f%2F", "http://a.test/~user", "http://a.test/a%20b", "http://a.test/a b", "http://a.test/%", "http://a.test/%zz%C3%A9", "http://a.test/é", "http://a.test/x|y{z}`\"<>",
	"http://a.test/a/../b/./c", "http://a.test/a/%2e%2E/b", "http://a.test//x//y", "http://a.test/x;jsessionid=Q?y", "http:\\\\a.test\\x", "http://user:pass@a.test/", "http://www.user@a.test/",
	"http://a.test/\tx\ny", "http:a.test/x", "http:/a.test/x", "http:///a.test/x", "https://a.test/;?a=http://www.B.test/",
	"dns:a.test", "urn:pageinfo:http://a.test/", "ftp://A.test/X", "HTTP://A.test/X", "metadata://a.test/x", "http://", "https://[::1", "http://a.test:99999/",
}

func TestPeers_KeysAreWarciosKeys(t *testing.T) {
	t.Parallel()
	dir := foreigntest.Clients(t)
	urls := slices.Clone(spelled)
	for _, u := range spelled { // and as we write them
		if c, err := canon.Parse(u); err == nil {
			urls = append(urls, c.String())
		}
	}
	in, err := json.Marshal(urls)
	require.NoError(t, err)
	script := `import {readFileSync} from "fs"; import {pathToFileURL} from "url";
const {getSurt} = await import(pathToFileURL(process.argv[1]));
console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(getSurt)))`
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", script, filepath.Join(dir, "warcio", "dist", "utils.js"))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var keys []string
	if err := json.Unmarshal(out, &keys); err != nil || len(keys) != len(urls) {
		t.Fatalf("%d keys of %d: %v", len(keys), len(urls), err)
	}
	for i, u := range urls {
		if got := cdxj.Key(u); got != keys[i] {
			t.Errorf("%q: our key is %q, warcio's %q", u, got, keys[i])
		}
	}
}

func foreignArchive(t *testing.T, dir string) {
	t.Helper()
	index, err := cdxj.Open(t.Context(), dir, cdxj.Options{})
	require.NoError(t, err)
	w, err := warc.Open(warc.Options{Dir: filepath.Join(dir, "warc"), Name: "curtsy", Index: index, Originals: index, SegmentSize: 20000})
	require.NoError(t, err)
	n := 0
	record := func(u, head, body string, change func(*storage.Record)) {
		text := "HTTP/1.1 " + head + "\r\n\r\n"
		r := storage.Record{
			URL: u, Time: time.Date(2026, 3, 4, 5, 6, 7+n/3, 890_123_000, time.UTC), Addr: netip.MustParseAddrPort("127.0.0.1:80"),
			Request:  []byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
			Response: io.NewSectionReader(strings.NewReader(text+body), 0, int64(len(text+body))), HeadSize: int64(len(text)),
			PayloadDigest: sha256.Sum256([]byte(body)), PayloadSize: int64(len(body)), HasPayload: true, Repeatable: true,
			Line: &storage.Line{Time: time.Now(), URL: u, Decision: "allow", Kind: "link"},
		}
		if n++; change != nil {
			change(&r)
		}
		if _, err := w.Record(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range spelled {
		if c, err := canon.Parse(s); err == nil {
			record(c.String(), "200 OK\r\nContent-Type: text/html; charset=utf-8", fmt.Sprintf("page %d of %s", i%20, strings.Repeat("x", i%7)), nil)
			record(c.String(), "200 OK\r\nContent-Type: text/html", "page again", nil) // revisits
		}
	}
	record("http://a.test/moved", "301 Moved\r\nLocation: /\r\nContent-Length: 0", "", nil)
	record("http://a.test/i.png", "200 OK\r\nContent-Type: image/png", "\x89PNG\x00\xff", nil)
	record("http://a.test/chunked", "200 OK\r\ntransfer-encoding: chunked\r\ncontent-type:text/css;a=b", "3\r\nabc\r\n0\r\n\r\n", nil)
	record("http://a.test/plain", "404 Not Found", "no type", nil)
	record("http://a.test/same", "304 Not Modified\r\nETag: \"x\"", "", func(r *storage.Record) {
		r.HasPayload, r.NotModified = false, &storage.Original{URL: r.URL, Date: r.Time.Add(-time.Hour), ID: "urn:uuid:6d0f2c3a-6f2f-4c5e-9d5b-0a2b3c4d5e6f"}
	})
	record("http://a.test/cut", "200 OK\r\nContent-Type: text/html\r\nContent-Length: 100", "half", func(r *storage.Record) { r.Truncated, r.Repeatable = "disconnect", false })
	record("http://a.test/silent", "", "", func(r *storage.Record) { r.Response, r.HeadSize, r.HasPayload = nil, 0, false })
	record("http://a.test/nodigest", "200 OK\r\nContent-Type: text/html", "x", func(r *storage.Record) { r.HasPayload, r.Repeatable = false, false })
	require.NoError(t, w.Refuse(context.Background(), storage.Line{Time: time.Now(), URL: "http://a.test/private", Decision: "disallow"}))
	require.NoError(t, w.Close())
	require.NoError(t, index.Close())
}

func warcio(t *testing.T, dir, command string) map[string][]string {
	t.Helper()
	program := filepath.Join(foreigntest.Clients(t), "warcio", "dist", "cli.js")
	segments, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	require.NoError(t, err)
	require.GreaterOrEqualf(t, len(segments), 2, "segments %v", segments)
	lines := map[string][]string{}
	for _, path := range segments {
		cmd := exec.CommandContext(t.Context(), "node", program, command, path)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err)
		lines[filepath.Base(path)] = strings.SplitAfter(strings.TrimSuffix(string(out), "\n"), "\n")
	}
	return lines
}

func TestPeers_OurIndexIsWarciosIndex(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compares files")
	}
	dir := t.TempDir()
	foreignArchive(t, dir)
	kinds := map[string]int{}
	for file, theirs := range warcio(t, dir, "cdx-index") {
		for i := range theirs {
			theirs[i] = strings.TrimSuffix(theirs[i], "\n") + "\n"
			l, err := cdxj.ParseLine([]byte(theirs[i]))
			require.NoError(t, err)
			kinds[l.Mime]++
			kinds[fmt.Sprint(l.Status)]++
		}
		slices.Sort(theirs)
		b, err := os.ReadFile(filepath.Join(dir, "index", strings.TrimSuffix(file, ".warc.gz")+".cdxj"))
		require.NoError(t, err)
		ours := strings.SplitAfter(string(b), "\n")
		ours = ours[:len(ours)-1]
		if !slices.Equal(ours, theirs) {
			t.Errorf("%s: %d lines, warcio has %d", file, len(ours), len(theirs))
			for i := range min(len(ours), len(theirs)) {
				if ours[i] != theirs[i] {
					t.Fatalf("line %d\nours   %swarcio %s", i+1, ours[i], theirs[i])
				}
			}
		}
	}
	for _, kind := range []string{"text/html", "image/png", "text/css", "warc/revisit", "", "200", "301", "304", "404"} {
		assert.NotEqualf(t, 0, kinds[kind], "no line with %q", kind)
	}
}

func TestPeers_WarcioReadsEveryRecord(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compares files")
	}
	dir := t.TempDir()
	foreignArchive(t, dir)
	kinds := map[string]int{}
	for file, theirs := range warcio(t, dir, "index") {
		f, err := os.Open(filepath.Join(dir, "warc", file))
		require.NoError(t, err)
		defer f.Close()
		rd := warc.NewReader(f)
		for _, line := range theirs {
			var their struct {
				Offset int64  `json:"offset"`
				Type   string `json:"warc-type"`
				URL    string `json:"warc-target-uri"`
			}
			require.NoErrorf(t, json.Unmarshal([]byte(line), &their), "%q", line)
			our, err := rd.Next()
			require.NoErrorf(t, err, "%s: %v; warcio has %s", file, err, line)
			if our.Offset != their.Offset || our.Type != their.Type || our.TargetURI() != their.URL {
				t.Fatalf("%s: we read %s %q at %d, warcio %s", file, our.Type, our.TargetURI(), our.Offset, line)
			}
			kinds[our.Type]++
		}
		if _, err := rd.Next(); err != io.EOF {
			t.Errorf("%s: warcio ends before us: %v", file, err)
		}
	}
	for _, kind := range []string{"warcinfo", "request", "response", "revisit", "metadata"} {
		assert.NotEqualf(t, 0, kinds[kind], "no %s record", kind)
	}
}
