package wacz

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/warc"
)

func TestTheSameCrawlGivesTheSameOctets(t *testing.T) {
	o := small(t).options(t)
	first := packedBy(t, o)
	for i := range 3 {
		require.Equalf(t, first.octets, packedBy(t, o).octets, "file %d is another", i+2)
	}
	for _, e := range first.zip.File {
		assert.GreaterOrEqualf(t, e.Modified.Year(), 2026, "%s has the date %v", e.Name, e.Modified)
	}
}

// Politeness rule 19: no WACZ has the body of a noarchive page, by the ledger, or only by its metadata (after a kill).
func TestRule19ABodyThatIsNotToBeArchivedIsLeftOut(t *testing.T) {
	secret := "<title>Secret bread</title>" + strings.Repeat("not for archives ", 40)
	pages := func(directives string) *crawled {
		return crawl(t, 0,
			exchange{url: "http://a.test/1", body: "<title>One</title>"},
			exchange{url: "http://a.test/2", body: secret, line: storage.Line{Directives: directives}},
			exchange{url: "http://a.test/3", body: secret, line: storage.Line{Directives: directives}}, // a revisit
			exchange{url: "http://a.test/4", body: "", line: storage.Line{Directives: directives}},     // without its body, as it should be
			exchange{url: "http://a.test/5", body: "<title>Five</title>"},
		)
	}
	by := map[string]func() Options{
		"the metadata record": func() Options {
			o := pages("nofollow, noarchive").options(t)
			o.Lines = nil
			return o
		},
		"the ledger": func() Options {
			c := pages("")
			for i := 1; i < 4; i++ {
				c.lines[i].Directives = "noindex, noarchive, unavailable_after: 1 Jan 2030"
			}
			return c.options(t)
		},
	}
	for who, options := range by {
		o := options()
		f := packedBy(t, o)
		assert.Truef(t, f.NoArchive == 2 && f.Records == 3, "%s: %d records left out, %d in", who, f.NoArchive, f.Records)
		r := warc.NewReader(bytes.NewReader(f.read("archive/curtsy-00000.warc.gz")))
		kinds := map[string]int{}
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			require.NoErrorf(t, err, "%s: the cut package is unreadable", who)
			b, _ := io.ReadAll(rec.Block)
			assert.NotContainsf(t, string(b), "not for archives", "%s: a %s record has the body", who, rec.Type)
			kinds[rec.Type]++
		}
		assert.Truef(t, kinds["response"] == 3 && kinds["revisit"] == 0 && kinds["request"] == 5 && kinds["metadata"] == 5, "%s: %v", who, kinds)
		checkIndex(t, f, f.read("indexes/index.cdxj"), 3)
		text := string(f.read("pages/pages.jsonl"))
		assert.Truef(t, !strings.Contains(text, "Secret") && !strings.Contains(text, "a.test/4"), "%s: %s", who, text)
		whole, _ := os.ReadFile(o.Segments[0])
		m := newMeter()
		m.Write(whole)
		notes := f.manifest().Curtsy.NoArchive
		if sum := m.print(); len(notes) != 1 || notes[0].Records != 2 || notes[0].Octets != sum.size-f.Octets || !strings.HasSuffix(notes[0].Whole, hexOf(sum)) {
			t.Errorf("%s: the manifest has %+v", who, notes)
		}
	}
}

func hexOf(p print) string { return hex.EncodeToString(p.sum[:]) }

func TestIndex_IsThatOfTheSegments(t *testing.T) {
	o := small(t).options(t)
	var want bytes.Buffer
	require.NoError(t, cdxj.Index(t.Context(), &want, func(string, warc.Finding) {}, o.Segments...))
	assert.Equal(t, want.String(), string(packedBy(t, o).read("indexes/index.cdxj")))
}

func TestADamagedOrForgedSegmentIsRefused(t *testing.T) {
	c := small(t)
	o := c.options(t)
	good, err := os.ReadFile(o.Segments[0])
	require.NoError(t, err)
	var undated bytes.Buffer
	w := gzip.NewWriter(&undated)
	_, err = io.WriteString(w, "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.test/\r\nWARC-Date: yesterday\r\nContent-Length: 0\r\n\r\n\r\n\r\n")
	require.NoError(t, errors.Join(err, w.Close()))
	for what, b := range map[string][]byte{
		"no date":  undated.Bytes(), // it cannot have a line of the index
		"torn":     good[:len(good)-7],
		"flipped":  append(append(good[:len(good)/2:len(good)/2], good[len(good)/2]^0x55), good[len(good)/2+1:]...),
		"no WARC":  []byte("hello"),
		"appended": append(good[:len(good):len(good)], "tail"...),
	} {
		require.NoError(t, os.WriteFile(o.Segments[0], b, 0o600))
		_, err := Write(t.Context(), io.Discard, o)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "curtsy-00000.warc.gz"), "%s: %v", what, err)
	}
	for what, path := range map[string]string{"a name for a terminal": "a\x1b[2J.warc.gz", "not compressed": "a.warc", "open": "a.warc.gz.open"} {
		p := filepath.Join(t.TempDir(), path)
		if err := os.WriteFile(p, good, 0o600); err != nil {
			continue // not a name here
		}
		o.Segments = []string{p}
		_, err := Write(t.Context(), io.Discard, o)
		assert.Truef(t, err != nil && !strings.Contains(err.Error(), "\x1b"), "%s: %v", what, err)
	}
	link := filepath.Join(t.TempDir(), "curtsy-00000.warc.gz")
	secret := filepath.Join(t.TempDir(), "secret")
	os.WriteFile(secret, good, 0o600)
	if os.Symlink(secret, link) == nil {
		o.Segments = []string{link}
		_, err := Write(t.Context(), io.Discard, o)
		assert.ErrorIsf(t, err, durable.ErrForeign, "a link out of the folder: %v", err)
	}
}

// changing is a writer during whose first write a segment changes.
type changing struct {
	path string
	done bool
}

func (c *changing) Write(p []byte) (int, error) {
	if !c.done {
		c.done = true
		b, err := os.ReadFile(c.path)
		if err != nil {
			return 0, err
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(c.path, b, 0o600); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func TestPack_RejectsChangingSegment(t *testing.T) {
	body := make([]byte, 1<<18)
	rand.NewChaCha8([32]byte{}).Read(body) // no compression makes it smaller than a buffer
	o := crawl(t, 0, exchange{url: "http://a.test/", body: string(body)}).options(t)
	_, err := Write(t.Context(), &changing{path: o.Segments[0]}, o)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "changed"), "%v", err)
}

func TestCreateLeavesAWholeFileOrNone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.wacz")
	o := small(t).options(t)
	o.TempDir = ""
	names := func() (names []string) {
		all, _ := os.ReadDir(dir)
		for _, e := range all {
			names = append(names, e.Name())
		}
		return names
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Create(ended, path, o)
	require.Truef(t, errors.Is(err, context.Canceled) && len(names()) <= 0, "%v left %q", err, names())
	broken := o
	broken.Files = []File{{"ledger/x", filepath.Join(dir, "missing")}}
	_, err = Create(t.Context(), path, broken)
	require.Truef(t, err != nil && len(names()) <= 0, "%v left %q", err, names())
	_, err = Create(t.Context(), path, o)
	require.Truef(t, err == nil && slices.Equal(names(), []string{"x.wacz"}), "%v left %q", err, names())
	_, err = Create(t.Context(), path, o)
	assert.ErrorIsf(t, err, ErrExists, "a file was overwritten: %v", err)
	z, err := zip.OpenReader(path)
	require.NoError(t, err)
	z.Close()
}

func TestMemoryDoesNotGrowWithTheArchive(t *testing.T) {
	cost := func(size int) uint64 {
		o := crawl(t, 0, exchange{url: "http://a.test/", body: "<p>" + strings.Repeat("bread and butter ", size/17)}).options(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Write(t.Context(), io.Discard, o)
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	little, much := cost(4<<20), cost(32<<20)
	assert.LessOrEqualf(t, much, little+4<<20, "octets of memory for 32 MiB, where 4 MiB cost %d", little)
}

func TestPagesBeyondTheLimitGoToTheSecondListAndSeedsDoNot(t *testing.T) {
	s, err := newSurvey(Options{TempDir: t.TempDir()})
	require.NoError(t, err)
	defer s.close()
	seg := &segment{name: "a.warc.gz"}
	for i := range maxPages + 20 {
		a := &answered{offset: int64(i), length: 1, body: true, page: &page{URL: "http://a.test/", Seed: i == maxPages+10}}
		require.NoError(t, s.settle(seg, a))
	}
	assert.Truef(t, s.pages.n == maxPages+1 && s.extra.n == 19 && s.main.Seed, "%d and %d pages", s.pages.n, s.extra.n)
}
