package crawldir

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
	"curtsy/storage/cdxj"
)

func TestUpdate_RearchivesUnreadableBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		etag string
		at   func(l cdxj.Line) int64
	}{
		"a body, confirmed by a 304": {`"1"`, func(l cdxj.Line) int64 { return l.Offset + l.Length/2 }},
		"a head":                     {`"1"`, func(l cdxj.Line) int64 { return l.Offset + 12 }},
		"a body, sent again":         {"not a tag", func(l cdxj.Line) int64 { return l.Offset + l.Length/2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			letters := make([]byte, 8<<10) // that no codec makes much smaller: the middle of the record is in its body
			from := rand.NewChaCha8([32]byte{})
			for i := range letters {
				letters[i] = ' ' + byte(from.Uint64()%64)
			}
			page := crawltest.Page{
				Body:  "<a href=/b>b</a>" + regexp.MustCompile("[<&]").ReplaceAllString(string(letters), "."),
				Links: []string{"/b"}, Header: map[string]string{"ETag": c.etag},
			}
			dir := crawled(t, &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{"/": page, "/b": page}})
			first := captures(t, dir)
			require.Truef(t, len(first) == 2 && first[0].Mime != "warc/revisit" && first[1].Mime == "warc/revisit", "%+v", first)
			path := in(dir, ArchiveName+"/"+first[0].Filename)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			b[c.at(first[0])] ^= 0x10
			require.NoError(t, os.WriteFile(path, b, 0o600))
			updated(t, dir, map[string]int64{string(storage.ChangeNew): 2})
			later := captures(t, dir)[len(first):]
			later = slices.DeleteFunc(later, func(l cdxj.Line) bool { return l.Status == 304 })
			assert.Truef(t, len(later) == 2 && later[0].Mime == "text/html" && later[1].Mime == "warc/revisit", "of two pages with one body %+v", later)
			updated(t, dir, map[string]int64{string(storage.ChangeUnchanged): 2})
		})
	}
}

func updated(t *testing.T, dir string, want map[string]int64) {
	t.Helper()
	s, err := ReadSettings(dir)
	require.NoError(t, err)
	require.NoError(t, one(Update(t.Context(), dir, nil, &s)))
	r := ran(t, dir, Options{})
	for change, n := range r.Changes.Counts {
		assert.Equal(t, want[change], n, change)
	}
}

// captures returns the index lines of pages in the order of their requests.
func captures(t *testing.T, dir string) (all []cdxj.Line) {
	t.Helper()
	paths, err := filepath.Glob(in(dir, IndexName+"/*.cdxj"))
	require.NoError(t, err)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		from := len(all)
		for line := range strings.Lines(string(b)) {
			l, err := cdxj.ParseLine([]byte(line))
			require.NoError(t, err)
			if !strings.HasSuffix(l.URL, "/robots.txt") {
				all = append(all, l)
			}
		}
		slices.SortFunc(all[from:], func(a, b cdxj.Line) int { return int(a.Offset - b.Offset) })
	}
	return all
}
