package cdxj

import (
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/warc"
)

func indexOf(dir string) string { return filepath.Join(dir, indexDir, "curtsy-00000.cdxj") }

func TestEarlierCrawl(t *testing.T) {
	first := t.TempDir()
	c := crawling(t, first, 0)
	c.record(t, some()...)
	id := ""
	if o, _, err := c.store.Original(digestOf("second")); err != nil {
		t.Fatal(err)
	} else {
		id = o.ID
	}
	c.close(t)
	apart := filepath.Join(t.TempDir(), "curtsy-00000.cdxj")
	b, err := os.ReadFile(indexOf(first))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(apart, b, 0o666))
	at := began.Add(7 * time.Second)
	for path, want := range map[string]storage.Original{
		indexOf(first): {URL: "http://a.test/", Date: at, ID: id},
		apart:          {URL: "http://a.test/", Date: at.Truncate(time.Second)},
	} {
		dir := t.TempDir()
		c := crawling(t, dir, 0, path)
		c.record(t, page(100, "http://a.test/new", "second"), page(101, "http://a.test/half", "half of it"))
		for _, body := range []string{"", "never met"} {
			o, known, err := c.store.Original(digestOf(body))
			assert.Truef(t, !known && err == nil, "%q: %v %v", body, o, err)
		}
		c.close(t)
		ls := captures(t, dir, "http://a.test/new")
		assert.Truef(t, len(ls) == 1 && ls[0].Mime == revisitType, "%v: not a revisit", ls)
		f, err := os.Open(filepath.Join(dir, warcDir, "curtsy-00000.warc.gz"))
		require.NoError(t, err)
		defer f.Close()
		var rec *warc.Record
		for rd := warc.NewReader(f); rec == nil || rec.Type != "revisit"; {
			rec, err = rd.Next()
			require.NoError(t, err)
		}
		for name, value := range map[string]string{
			"WARC-Refers-To": want.ID, "WARC-Refers-To-Target-URI": want.URL, "WARC-Refers-To-Date": want.Date.Format(time.RFC3339Nano),
		} {
			got := strings.Trim(rec.Fields.Get(name), "<>")
			assert.Falsef(t, got != value && !(name == "WARC-Refers-To-Date" && sameTime(got, value)), "%s: %s is %q, want %q", path, name, got, value)
		}
	}
}

func sameTime(a, b string) bool {
	t, err1 := time.Parse(time.RFC3339Nano, a)
	u, err2 := time.Parse(time.RFC3339Nano, b)
	return err1 == nil && err2 == nil && t.Equal(u)
}

func TestEarlier_IgnoresPartialPages(t *testing.T) {
	first := t.TempDir()
	c := crawling(t, first, 0)
	c.record(t, some()...)
	c.close(t)
	c = crawling(t, t.TempDir(), 0, indexOf(first))
	defer c.close(t)
	for _, body := range []string{"half of it", "User-agent: *\nDisallow: /x\n", "moved", "nothing"} {
		o, known, err := c.store.Original(digestOf(body))
		assert.Truef(t, !known && err == nil, "%q: %v %v", body, o, err)
	}
}

func TestOriginal_IsOfThePayload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := crawling(t, dir, 1) // a segment for each
	c.record(t, page(1, "http://a.test/1", "first"), page(2, "http://a.test/2", "second"))
	c.close(t)
	indexes, err := Files(filepath.Join(dir, indexDir))
	require.NoError(t, err)
	known := func(c *crawl, body string) bool {
		_, known, err := c.store.Original(digestOf(body))
		require.NoError(t, err)
		return known
	}
	later := crawling(t, t.TempDir(), 0, indexes...)
	defer later.close(t)
	assert.True(t, known(later, "first") && known(later, "second"))

	c = crawling(t, dir, 1)
	defer c.close(t)
	assert.True(t, known(c, "first") && known(c, "second"))
	line, err := ParseLine([]byte(contents(t, dir)[filepath.Base(indexes[1])]))
	require.NoError(t, err)
	c.store.place(digestOf("third"), line.Offset)
	assert.False(t, known(c, "third"))
	path, moved := filepath.Join(dir, warcDir, line.Filename), filepath.Join(t.TempDir(), line.Filename)
	require.NoError(t, os.Rename(path, moved))
	assert.False(t, known(c, "second"))
	require.NoError(t, os.Symlink(moved, path))
	assert.False(t, known(c, "second"), "a link out of the directory")
}

func TestDigestsOfOtherTools(t *testing.T) {
	d := digestOf("body")
	base := base32.StdEncoding.EncodeToString(d[:])
	for s, want := range map[string]bool{
		hex.EncodeToString(d[:]):                  true,
		"sha256:" + hex.EncodeToString(d[:]):      true,
		strings.ToUpper(hex.EncodeToString(d[:])): true,
		base:                               true,
		strings.TrimRight(base, "="):       true,
		"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ": false, // SHA-1
		hex.EncodeToString(d[:31]):         false,
		strings.Repeat("g", 64):            false,
		strings.Repeat("1", 52):            false,
		"":                                 false,
	} {
		got, ok := parseDigest(s)
		assert.Falsef(t, ok != want || ok && got != d, "%q: %x %v", s, got, ok)
	}
}

func TestEarlier_ReportsUnusableLines(t *testing.T) {
	path := fileOf(t, "other.cdxj", "!OpenWayback-CDXJ 1.0\n",
		`test,a)/ 20260304050607 {"url":"http://a.test/","digest":"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ","filename":"x"}`+"\n",
		`test,a)/2 20260304050607 {"url":"http://a.test/2","digest":"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ","filename":"x"}`+"\n",
		"nonsense\n",
		fmt.Sprintf(`test,a)/3 20260304050607 {"url":"http://a.test/3","mime":"warc/revisit","digest":"%x"}`, digestOf("revisit"))+"\n",
		fmt.Sprintf(`test,a)/4 20260304050607 {"url":"http://a.test/4 5","digest":"%x"}`, digestOf("a URL with a space"))+"\n",
	)
	c := crawling(t, t.TempDir(), 0, path)
	defer c.close(t)
	notes := strings.Join(c.store.Notes(), "\n")
	for _, want := range []string{"2 captures have digests other than SHA-256", "1 lines are not CDXJ", "no payload in it"} {
		assert.Contains(t, notes, want, "the notes")
	}
	for _, body := range []string{"revisit", "a URL with a space"} {
		o, known, err := c.store.Original(digestOf(body))
		assert.Truef(t, !known && err == nil, "%q: %v %v", body, o, err)
	}
	_, err := Open(t.Context(), t.TempDir(), Options{Earlier: []string{path + ".none"}})
	assert.Truef(t, err != nil && strings.Contains(err.Error(), path+".none"), "%v", err)
}

func TestEarlier_RejectsChangingIndex(t *testing.T) {
	line := fmt.Sprintf(`test,a)/ 20260304050607 {"url":"http://a.test/","digest":"%x","filename":"x"}`, digestOf("body"))
	path := fileOf(t, "e.cdxj", line+"\n")
	c := crawling(t, t.TempDir(), 0, path)
	defer c.close(t)
	for _, now := range []string{strings.Replace(line, fmt.Sprintf("%x", digestOf("body")), fmt.Sprintf("%x", digestOf("other")), 1), "nonsense", ""} {
		_, known, err := c.store.Original(digestOf("body"))
		require.Falsef(t, now != "nonsense" && now != "" && (!known || err != nil), "not known before: %v", err)
		require.NoError(t, os.WriteFile(path, []byte(now), 0o666))
		o, known, err := c.store.Original(digestOf("body"))
		assert.Truef(t, !known && err == nil, "%q: %v %v", now, o, err)
	}
}

func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	c := crawling(t, dir, 20_000)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 60 {
				body := fmt.Sprint("body ", (g+i)%40)
				_, err := c.warc.Record(t.Context(), page(i, fmt.Sprintf("http://a.test/%d/%d", g, i), body))
				assert.NoError(t, err)
				o, known, err := c.store.Original(digestOf(body))
				assert.Truef(t, known && err == nil && o.ID != "", "%q: %v %v %v", body, o, known, err)
			}
		})
	}
	wg.Wait()
	c.close(t)
	n, revisits := 0, 0
	for _, text := range contents(t, dir) {
		n += strings.Count(text, "\n")
		revisits += strings.Count(text, revisitType)
	}
	assert.Truef(t, n == 8*60 && revisits >= 8*60-40*8, "%d lines, %d of revisits", n, revisits)
}
