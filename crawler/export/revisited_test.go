package export

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
)

func TestLinksOfRevisits(t *testing.T) {
	w := newWeb(t, map[string]string{
		"/":  `x<a href=/a>one</a><a href=/a>two</a><a href=mailto:x@y>m</a>`,
		"/a": `x<a href=/>home</a><a href=/b>b</a>`,
		"/b": "301\nLocation: /\n\n",
	})
	dir := crawled(t, w, "news")
	w.change("/a", `x<a href=/c>c</a>`)
	updated(t, dir)
	m := makeTable(t, "links", dir)
	var got []string
	for _, r := range m.rows {
		got = append(got, strings.ReplaceAll(m.show(r, "generation", "source_url", "position", "kind", "target_url", "anchor_text", "repeated", "followed", "in_scope", "why_not"), w.URL, ""))
	}
	slices.Sort(got) // both generations may have the same second
	want := []string{
		"1 | / | 1 | link | /a | one | false | true | true | -",
		"1 | / | 2 | link | /a | two | true | true | true | -",
		"1 | / | 3 | link | - | m | false | false | - | scheme",
		"1 | /a | 1 | link | / | home | false | true | true | -",
		"1 | /a | 2 | link | /b | b | false | true | true | -",
		"1 | /b | 1 | redirect | / | - | false | true | true | -",
		"2 | / | 1 | link | /a | one | false | true | true | -",
		"2 | / | 2 | link | /a | two | true | true | true | -",
		"2 | / | 3 | link | - | m | false | false | - | scheme",
		"2 | /a | 1 | link | /c | c | false | true | true | -",
	}
	assert.Equal(t, want, got)
}

func TestLinksOfADamagedArchive(t *testing.T) {
	dir := crawled(t, newWeb(t, map[string]string{"/": `x<a href=/a>one</a>`, "/a": "x<a href=/>"}), "news")
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Remove(files[0]))
	m := makeTable(t, "links", dir)
	if len(m.rows) != 2 || m.show(m.rows[0], "kind", "why_not", "target_url") != "unread | no-file | -" || m.Problems["no-file"] != 2 {
		t.Errorf("%d rows: %v, problems %v", len(m.rows), m.show(m.rows[0], "kind", "why_not", "target_url"), m.Problems)
	}
}
