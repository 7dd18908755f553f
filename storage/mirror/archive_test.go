package mirror

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/cdxj"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/warc"
)

func TestAKilledCrawlHasAMirror(t *testing.T) {
	dir := t.TempDir()
	s, err := cdxj.Open(t.Context(), dir, cdxj.Options{})
	require.NoError(t, err)
	w, err := warc.Open(warc.Options{Dir: filepath.Join(dir, "warc"), Name: "curtsy", Index: s, Originals: s})
	require.NoError(t, err)
	all := append(small(), got{url: "http://a.test/last", body: strings.Repeat("last ", 1000)})
	for n, g := range all {
		_, err := w.Record(t.Context(), g.made(n))
		require.NoError(t, err)
	}
	killed := t.TempDir()
	require.NoError(t, os.CopyFS(killed, os.DirFS(dir)))
	require.NoError(t, w.Close())
	require.NoError(t, s.Close())
	built(t, options(t, dir))
	s1 := built(t, options(t, killed))
	mustBeEqual(t, "an open segment", treeOf(t, Tree(dir)), treeOf(t, Tree(killed)))
	open, err := filepath.Glob(filepath.Join(killed, "warc", "*.open"))
	require.NoError(t, err)
	require.Len(t, open, 1)
	fi, err := os.Stat(open[0])
	require.NoError(t, err)
	for cut := int64(1); cut < fi.Size(); cut += fi.Size()/7 + 1 {
		require.NoError(t, os.Truncate(open[0], fi.Size()-cut))
		s2 := built(t, options(t, killed))
		assert.LessOrEqualf(t, s2.URLs, s1.URLs, "a torn segment has %d URLs, the whole one %d", s2.URLs, s1.URLs)
		wrong, _ := brokenOf(t, killed)
		assert.Truef(t, len(wrong) <= 0, "with %d octets less: %+v", cut, wrong)
	}
}

func TestBuild_DamagedKeepsTheFileBefore(t *testing.T) {
	for _, url := range []string{"http://a.test/", "http://a.test/i.png"} {
		for _, head := range []bool{true, false} {
			if !head && url != "http://a.test/" {
				continue // a picture is shared without reading its record
			}
			dir := t.TempDir()
			crawled(t, dir, got{url: "http://a.test/", body: "<img src=/i.png>" + strings.Repeat("the page", 30)},
				got{url: "http://a.test/i.png", body: strings.Repeat("the picture's octets ", 30)})
			o := options(t, dir)
			built(t, o)
			before := treeOf(t, Tree(dir))
			segment, err := os.ReadFile(o.Archive.Segments[0])
			require.NoError(t, err)
			for l, err := range cdxj.Lookup(o.Archive.Index, url) {
				require.NoError(t, err)
				if at := l.Offset + 10; head {
					segment[at] ^= 4
				} else {
					segment[l.Offset+l.Length-6] ^= 4 // of the checksum
				}
			}
			edit(t, o.Archive.Segments[0], string(segment))
			for range 2 { // and again
				s := built(t, o)
				after := treeOf(t, Tree(dir))
				if s.Salvaged != 1 || s.Unreadable != 1 || s.Lost != 0 || len(s.Notes) != 1 || !strings.Contains(after[MapFile], `"older":"damaged"`) {
					t.Errorf("%s, head %v: %+v", url, head, s)
				}
				delete(after, MapFile)
				delete(before, MapFile)
				mustBeEqual(t, url, before, after)
			}
			o.Layout = layout.Layout{Kind: layout.Flat}
			s := built(t, o)
			assert.Truef(t, s.Salvaged == 0 && s.Unreadable == 1 && s.Left[Damaged] == 1, "%s, another layout: %+v", url, s)
			wrong, _ := brokenOf(t, dir)
			assert.Falsef(t, url != "http://a.test/" && (len(wrong) != 1 || wrong[0].Detail != RecordUnreadable), "%s is not there: %+v", url, wrong)
		}
	}
}

func damageLatest(t *testing.T, o Options, url string) {
	t.Helper()
	var latest cdxj.Line
	for l, err := range cdxj.Lookup(o.Archive.Index, url) {
		require.NoError(t, err)
		if l.Time.After(latest.Time) {
			latest = l
		}
	}
	i := slices.IndexFunc(o.Archive.Segments, func(path string) bool { return filepath.Base(path) == filepath.Base(latest.Filename) })
	segment, err := os.ReadFile(o.Archive.Segments[i])
	require.NoError(t, err)
	segment[latest.Offset+10] ^= 4
	edit(t, o.Archive.Segments[i], string(segment))
}

func TestBuild_DamagedWithoutFileBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	crawled(t, dir, got{url: "http://a.test/", body: "<img src=/i.png>"}, got{url: "http://a.test/i.png", body: "the picture"})
	o := options(t, dir)
	built(t, o)
	damageLatest(t, o, "http://a.test/i.png")
	require.NoError(t, os.Remove(filepath.Join(Tree(dir), "a.test", "i.png")))
	for range 2 {
		s := built(t, o)
		assert.Truef(t, s.Files == 1 && s.Salvaged == 0 && s.Unreadable == 1 && s.Left[Damaged] == 1, "%+v", s)
	}
}

func TestBuild_DamagedKeepsTheNewerFile(t *testing.T) {
	t.Parallel()
	const url = "http://a.test/"
	page := func(body string) got { return got{url: url, body: body} }
	gone := got{url: url, head: "404 Not Found\r\nContent-Type: text/plain", second: 9}
	for _, c := range []struct {
		name    string
		before  []got // the crawl of which the mirror before is
		damaged []got // later records, the last damaged
		after   []got // the records after those
		want    string
		kept    int64
		stale   int64
		layout  layout.Layout
	}{
		{name: "older page", before: []got{page("<p>old"), page("<p>new")}, want: "<p>new", kept: 1},
		{name: "older redirect", before: []got{{url: url, head: "302 Found\r\nLocation: /x"}, page("<p>new")}, want: "<p>new", kept: 1},
		{name: "gone since", before: []got{page("<p>old"), page("<p>new")}, after: []got{gone}, want: "<p>new", kept: 1},
		{name: "nothing older", before: []got{page("<p>new")}, after: []got{gone}, want: "<p>new", kept: 1},
		{name: "mirror older", before: []got{page("<p>old")}, damaged: []got{{url: url, body: "<p>new", second: 8}}, want: "<p>old", stale: 1},
		{name: "mirror older than both", before: []got{page("<p>old")},
			damaged: []got{{url: url, body: "<p>next", second: 7}, {url: url, body: "<p>new", second: 8}}, want: "<p>next", stale: 1},
		{name: "another layout", before: []got{page("<p>old"), page("<p>new")}, layout: layout.Layout{Kind: layout.Flat}, want: "<p>old", stale: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			crawled(t, dir, append([]got{{url: "http://a.test/x", body: "<p>x"}}, c.before...)...)
			built(t, options(t, dir))
			crawled(t, dir, c.damaged...)
			damageLatest(t, options(t, dir), url)
			crawled(t, dir, c.after...)
			o := options(t, dir)
			o.Layout = c.layout
			for range 2 { // and again
				s := built(t, o)
				file := mapOf(t, dir)[url].File
				got := treeOf(t, Tree(dir))[file]
				assert.Truef(t, strings.HasSuffix(got, c.want) && s.Salvaged == c.kept && s.Stale == c.stale && s.Unreadable == 1, "%s is %q: %+v", file, got, s)
			}
		})
	}
}

func TestADamagedRecordGivesNoFile(t *testing.T) {
	dir := t.TempDir()
	picture := strings.Repeat("the picture's octets ", 30)
	page := "<p>" + strings.Repeat("the page's octets ", 30)
	crawled(t, dir, got{url: "http://a.test/", body: page}, got{url: "http://a.test/i.png", body: picture})
	o := options(t, dir)
	path := o.Archive.Segments[0]
	segment, err := os.ReadFile(path)
	require.NoError(t, err)
	lost := 0
	for _, url := range []string{"http://a.test/", "http://a.test/i.png"} {
		for l, err := range cdxj.Lookup(o.Archive.Index, url) {
			require.NoError(t, err)
			for at := l.Offset + 10; at < l.Offset+l.Length; at += l.Length/30 + 1 {
				segment[at] ^= 0x10
				edit(t, path, string(segment))
				segment[at] ^= 0x10
				s := built(t, o)
				tree := treeOf(t, Tree(dir))
				if i, ok := tree["a.test/i.png"]; ok && i != picture {
					t.Errorf("octet %d: the picture is %q", at, i)
				} else if !ok {
					lost++
				}
				if p, ok := tree["a.test/index.html"]; ok && !strings.Contains(p, page) {
					t.Errorf("octet %d: the page is %q", at, p)
				} else if !ok {
					lost++
				}
				if s.Files < 2 && s.Left[Damaged] == 0 && s.Left[Failed] == 0 && s.Left[NoOriginal] == 0 && s.Left[Truncated] == 0 {
					t.Errorf("octet %d: unreported: %+v", at, s)
				}
				os.RemoveAll(Tree(dir))
			}
		}
	}
	assert.GreaterOrEqualf(t, lost, 20, "only %d files were lost", lost)
}

func TestAForeignArchiveHasAMirror(t *testing.T) {
	dir := t.TempDir()
	record := func(kind, url, block string) string {
		return "WARC/1.0\r\nWARC-Type: " + kind + "\r\nWARC-Record-ID: <urn:uuid:" + hashOf(url)[:8] + kind + ">\r\nWARC-Date: 2020-01-02T03:04:05Z\r\nWARC-Target-URI: <" + url +
			">\r\nContent-Type: application/http;msgtype=" + kind + "\r\nContent-Length: " + strconv.Itoa(len(block)) + "\r\n\r\n" + block + "\r\n\r\n"
	}
	html := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" // names no type
	body := `<html><a href=/x>x</a><img src=/y>`
	text := record("response", "http://f.test/", html+strconv.FormatInt(int64(len(body)), 16)+"\r\n"+body+"\r\n0\r\n\r\n") +
		record("response", "http://f.test/x", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nx") +
		record("response", "http://f.test/y", "HTTP/1.1 200 OK\r\n\r\n\x89PNG\r\n\x1a\n") +
		record("response", "http://f.test/robots.txt", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *") +
		record("resource", "dns:f.test", "f.test. 1 IN A 192.0.2.1") + "garbage"
	path := filepath.Join(t.TempDir(), "other.warc")
	edit(t, path, text)
	s := built(t, Options{Archive: Archive{Segments: []string{path}}, Dir: dir, hasty: true})
	tree := treeOf(t, Tree(dir))
	got := strings.Join(filesOf(tree), " ")
	assert.Truef(t, got == "f.test/index.html f.test/x.txt f.test/y.png" && s.OffWeb == 1 && len(s.Notes) != 0, "the files are %s; %+v", got, s)
	b := tree["f.test/index.html"]
	assert.Truef(t, strings.Contains(b, `"x.txt"`) && strings.Contains(b, `"y.png"`), "the page is %s", b)
}

func FuzzMapRoundTrip(f *testing.F) {
	f.Add("http://a.test/", "a.test/x\u2028<>&.html", "text/html; charset=\"x\"", int64(1))
	f.Fuzz(func(t *testing.T, url, file, contentType string, size int64) {
		e := Entry{URL: url, File: file, Status: 200, Type: contentType, Size: size, Document: Rewritten}
		line, err := marshal(e)
		require.NoError(t, err)
		require.False(t, strings.ContainsAny(line, "\n\r"), line)
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, MapFile), []byte(line+"\n"), 0o600))
		b, _ := json.Marshal(e)
		var want Entry
		require.NoError(t, json.Unmarshal(b, &want))
		for got, err := range Map(dir) {
			require.False(t, err != nil && local(want.File) && len(line) < maxMapLine, err)
			assert.Falsef(t, err == nil && !reflect.DeepEqual(got, want), "%+v became %+v", want, got)
			assert.Falsef(t, err == nil && !local(got.File), "%q is not a file of a mirror", got.File)
		}
	})
}

func TestMemoryOfAPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 100,000 entries")
	}
	const n = 100_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := &plan{entries: make([]entry, 0, n)}
	for i := range n {
		p.entries = append(p.entries, entry{
			key:  strings.Clone("http://www.site.example/some/directory/page-number-" + strconv.Itoa(1_000_000+i)),
			kind: kindOf("text/html; charset=utf-8"),
		})
	}
	p.index()
	p.resolve()
	p.name()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (after.HeapAlloc - before.HeapAlloc) / n; each > 220 {
		t.Errorf("a URL takes %d octets", each)
	} else {
		t.Logf("a URL takes %d octets", each)
	}
	runtime.KeepAlive(p)
}

func TestReason_WhyInWords(t *testing.T) {
	reasons := map[string]Reason{}
	for _, r := range []Reason{
		Robots, OptOut, Scope, Budget, NoFollow, Held, Failed, Gone, NoArchive, Truncated, TooLarge, Damaged, NoOriginal,
		Redirect, NotFetched, ByScript, NotRewritten,
	} {
		why := r.Why("")
		assert.NotEqualf(t, string(r), why, "%s has no words", r)
		assert.Emptyf(t, reasons[why], "%s has the same words, %q", r, why)
		reasons[why] = r
	}
	assert.Equal(t, "only scripts name it: status 404", ByScript.Why("status 404"))
}
