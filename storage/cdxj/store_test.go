package cdxj

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func some() []storage.Record {
	cut := page(8, "http://a.test/cut", "half of it")
	cut.Truncated, cut.Repeatable = "disconnect", false
	whole := page(0, "http://a.test/robots.txt", "User-agent: *\nDisallow: /x\n")
	whole.Repeatable = false
	silent := page(9, "http://a.test/silent", "")
	silent.Response, silent.HeadSize, silent.HasPayload = nil, 0, false
	same := answer(10, "http://a.test/", "304 Not Modified", "")
	same.NotModified = &storage.Original{URL: "http://a.test/", Date: began.Add(time.Second), ID: "urn:uuid:0"}
	odd := answer(11, "http://a.test/odd", "2000 what\r\nContent-Type: Text/HTML nonsense", "odd")
	broken := page(12, "http://a.test/broken", "no head ends here")
	broken.HeadSize, broken.HasPayload, broken.Truncated = 0, false, "disconnect"
	broken.Response = readerOf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
	hinted := page(13, "http://a.test/hinted", "")
	hints := "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: Text/CSS;a=b\r\n\r\n"
	hinted.Response, hinted.HeadSize = readerOf(hints), int64(len(hints))
	return []storage.Record{
		whole,
		page(1, "http://a.test/", "first"),
		page(2, "http://www.a.test/Again?b=2&a=1", "first"), // a revisit
		answer(3, "http://a.test/moved", "301 Moved\r\nLocation: /", "moved"),
		answer(4, "https://b.test:8443/i.png", "200 OK\r\nContent-Type: IMAGE/PNG", "\x89PNG"),
		answer(5, "http://[2001:db8::1]/", "404 Not Found\r\nContent-Type: text/plain", "nothing"),
		answer(6, "http://127.0.0.1:8080/%7Euser", "500 Oh", ""),
		page(7, "http://a.test/", "second"),
		cut, silent, same, odd, broken, hinted,
	}
}

func TestBuiltWhileCrawlingEqualsRebuilt(t *testing.T) {
	for _, segment := range []int64{0, 1500} {
		dir := t.TempDir()
		c := crawling(t, dir, segment)
		c.record(t, some()...)
		c.close(t)
		built := contents(t, dir)
		again := rebuilt(t, dir)
		assert.Truef(t, maps.Equal(built, again), "segments of %d: built\n%v\nrebuilt\n%v", segment, built, again)
		assert.Falsef(t, segment > 0 && len(built) < 3, "only %d segments", len(built))
		n := 0
		for name, text := range built {
			n += strings.Count(text, "\n")
			lines := strings.SplitAfter(text, "\n")
			assert.Truef(t, slices.IsSorted(lines[:len(lines)-1]), "%s is not sorted:\n%s", name, text)
		}
		assert.Truef(t, n == len(some())-1, "%d lines of %d answers", n, len(some())-1)
	}
}

func TestTornSegment(t *testing.T) {
	killed := t.TempDir()
	c := crawling(t, killed, 0)
	c.record(t, some()...)
	open := filepath.Join(killed, warcDir, "curtsy-00000.warc.gz.open")
	archive, err := os.ReadFile(open)
	require.NoError(t, err)
	for _, torn := range []struct {
		name    string
		journal int // bytes lost of it
	}{{"all was written", 0}, {"the index is behind", 700}, {"the index is torn", 5}} {
		t.Run(torn.name, func(t *testing.T) {
			for end := 0; end <= len(archive); end += 397 {
				dir := t.TempDir()
				require.NoError(t, os.CopyFS(dir, os.DirFS(killed)))
				shorten(t, filepath.Join(dir, indexDir, "curtsy-00000.cdxj.open"), torn.journal)
				shorten(t, filepath.Join(dir, warcDir, filepath.Base(open)), len(archive)-end)
				again := crawling(t, dir, 0)
				again.record(t, page(100, "http://a.test/after", "first"), page(101, "http://a.test/more", "second"))
				again.close(t)
				built := contents(t, dir)
				want := rebuilt(t, dir)
				require.Truef(t, maps.Equal(built, want), "cut at %d: built\n%v\nrebuilt\n%v", end, built, want)
				mustReferToWhatIsThere(t, dir)
			}
		})
	}
	c.close(t)
}

func shorten(t *testing.T, path string, by int) {
	t.Helper()
	fi, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, fi.Size()-int64(by)))
}

func TestOpen_IndexesCompleteSegments(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 0)
	c.record(t, some()...)
	c.close(t)
	built := contents(t, dir)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, indexDir)))
	c = crawling(t, dir, 0)
	o, known, err := c.store.Original(digestOf("second"))
	assert.Truef(t, known && err == nil && o.URL == "http://a.test/", "original of an earlier response: %v %v %v", o, known, err)
	c.close(t)
	again := contents(t, dir)
	assert.Truef(t, maps.Equal(built, again), "built\n%v\nagain\n%v", built, again)
}

func TestOriginals_IgnoreVoidRecords(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 0)
	c.record(t, page(1, "http://a.test/", "first"))
	first, known, err := c.store.Original(digestOf("first"))
	if !known || err != nil {
		t.Fatal(known, err)
	}
	c.close(t)
	line, err := ParseLine([]byte(contents(t, dir)["curtsy-00000.cdxj"]))
	require.NoError(t, err)

	c = crawling(t, dir, 0)
	c.store.Void(Place{line.Filename, line.Offset})
	if o, known, err := c.store.Original(digestOf("first")); known || err != nil {
		t.Errorf("%v %v", o, err)
	}
	c.record(t, page(2, "http://a.test/", "first"), page(3, "http://a.test/again", "first"))
	c.close(t)
	kinds := contents(t, dir)["curtsy-00001.cdxj"]
	assert.Truef(t, strings.Count(kinds, revisitType) == 1 && strings.Contains(kinds, "text/html"), "the payload is not stored once: %s", kinds)
	c = crawling(t, dir, 0)
	defer c.close(t)
	if o, known, err := c.store.Original(digestOf("first")); !known || err != nil || o.ID == first.ID || !o.Date.Equal(began.Add(2*time.Second)) {
		t.Errorf("a later crawl refers to %v (%v %v)", o, known, err)
	}
}

func TestOriginals_CompleteResponsesOnly(t *testing.T) {
	c := crawling(t, t.TempDir(), 0)
	defer c.close(t)
	c.record(t, some()...)
	for body, want := range map[string]string{
		"first":                         "http://a.test/",
		"second":                        "http://a.test/",
		"moved":                         "", // no page
		"half of it":                    "", // cut
		"User-agent: *\nDisallow: /x\n": "", // robots.txt
		"":                              "",
		"never archived":                "",
	} {
		o, known, err := c.store.Original(digestOf(body))
		assert.Truef(t, o.URL == want && known == (want != "") && err == nil, "%q: %v %v %v, want %q", body, o, known, err, want)
	}
	o, _, _ := c.store.Original(digestOf("first"))
	assert.Truef(t, o.Date.Equal(began.Add(time.Second)) && strings.HasPrefix(o.ID, "urn:uuid:"), "date %v, id %q", o.Date, o.ID)
}

func TestOriginal_ManyRecordsThatNothingMayReferTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // as it is written, and as it is read
		c := crawling(t, dir, 0)
		for i := range 2 * maxPlaces {
			c.record(t, page(i, fmt.Sprintf("http://a.test/%d/robots.txt", i), "User-agent: *"))
		}
		assert.Len(t, c.store.places(digestOf("User-agent: *")), maxPlaces)
		c.close(t)
	}
}

func TestStore_ReportsFullDisk(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 0)
	c.record(t, page(1, "http://a.test/", "first"))
	c.store.journal.Close()
	_, err := c.warc.Record(t.Context(), page(2, "http://a.test/2", "other"))
	assert.ErrorIsf(t, err, os.ErrClosed, "%v", err)
	c.warc.Close()
	c.store.Close()
	again := crawling(t, dir, 0) // and the next run has all that is in the archive
	again.close(t)
	built, want := contents(t, dir), rebuilt(t, dir)
	assert.Truef(t, maps.Equal(built, want) && strings.Count(fmt.Sprint(built), "\n") == 2, "built\n%v\nrebuilt\n%v", built, want)
}

func TestRebuildOfAKilledCrawl(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 0)
	c.record(t, some()...)
	want := contents(t, dir)["curtsy-00000.cdxj.open"]
	open := filepath.Join(dir, warcDir, "curtsy-00000.warc.gz.open")
	for _, torn := range []int{0, 5} {
		shorten(t, open, torn)
		for name, text := range map[string]string{"curtsy-00009.cdxj": "x\n", "curtsy-00000.cdxj.open": ""} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, indexDir, name), []byte(text), 0o666))
		}
		require.NoError(t, Rebuild(t.Context(), filepath.Join(dir, warcDir), filepath.Join(dir, indexDir), nil))
		got := contents(t, dir)
		if len(got) != 1 || !strings.HasPrefix(want, got["curtsy-00000.cdxj.open"]) || len(got["curtsy-00000.cdxj.open"]) < len(want)-torn*100 {
			t.Errorf("%d octets torn:\n%v\nwant\n%s", torn, got, want)
		}
	}
	c.warc.Close()
	c.store.Close()
	assert.ErrorIs(t, Rebuild(t.Context(), filepath.Join(dir, "none"), filepath.Join(dir, indexDir), nil), os.ErrNotExist, "without an archive")
}

func TestOriginal_DamagedRecordIsUnknown(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 0)
	c.record(t, page(1, "http://a.test/", strings.Repeat("first ", 500)))
	c.close(t)
	line, err := ParseLine([]byte(contents(t, dir)["curtsy-00000.cdxj"]))
	require.NoError(t, err)
	path := filepath.Join(dir, warcDir, line.Filename)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[line.Offset+line.Length-6] ^= 1 // in the checksum of its member
	require.NoError(t, os.WriteFile(path, b, 0o600))
	c = crawling(t, dir, 0)
	defer c.close(t)
	_, known, err := c.store.Original(digestOf(strings.Repeat("first ", 500)))
	require.NoError(t, err)
	assert.False(t, known)
}

func TestOpen_ReportsDamagedIndex(t *testing.T) {
	t.Parallel()
	for what, damage := range map[string]string{"longer than": strings.Repeat("x", 2*maxLine), "not CDXJ: 1": "junk\n"} {
		dir := t.TempDir()
		c := crawling(t, dir, 0)
		c.record(t, page(1, "http://a.test/", "first"))
		c.close(t)
		require.NoError(t, os.WriteFile(indexOf(dir), []byte(contents(t, dir)[filepath.Base(indexOf(dir))]+damage), 0o666))
		c = crawling(t, dir, 0)
		_, known, err := c.store.Original(digestOf("first"))
		assert.True(t, known && err == nil, err)
		assert.Contains(t, strings.Join(c.store.Damaged(), "\n"), what)
		c.close(t)
	}
}

func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 0)
	c.record(t, some()...)
	c.close(t)
	built := contents(t, dir)
	for _, name := range []string{"curtsy-00000.cdxj.open", "curtsy-00007.cdxj.open", "curtsy-00000.cdxj.new", "curtsy-sorted-1"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, indexDir, name), []byte(built["curtsy-00000.cdxj"][:100]), 0o666))
	}
	crawling(t, dir, 0).close(t)
	entries, err := os.ReadDir(filepath.Join(dir, indexDir))
	again := contents(t, dir)
	assert.Truef(t, maps.Equal(built, again) && err == nil && len(entries) == 1, "%v; %v %v", again, entries, err)
}
