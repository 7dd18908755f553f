package mirror

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKind_ByName(t *testing.T) {
	dir := t.TempDir()
	manifest := `{"icons":[{"src":"/i.png"}]}`
	plain := func(media string) string { return "200 OK\r\nContent-Type: " + media }
	crawled(t, dir,
		got{url: "http://a.test/d/site.webmanifest", head: plain("application/octet-stream"), body: manifest},
		got{url: "http://a.test/d/x.webmanifest", head: plain("application/manifest+json"), body: manifest},
		got{url: "http://a.test/d/manifest.json", head: plain("application/json"), body: manifest + " "},
		got{url: "http://a.test/d/data.json", head: plain("application/json"), body: manifest + "  "},
		got{url: "http://a.test/d/s.css", head: "200 OK\r\nServer: x", body: "a{b:url(/i.png)}"},
		got{url: "http://a.test/m.js?v=1", head: plain("text/javascript"), body: `import a from "/n.js?v=2"; export * from './gone.js'; load("o.js")`},
		got{url: "http://a.test/n.js?v=2", head: plain("text/javascript"), body: `load("/o.js")`},
		got{url: "http://a.test/x.xml", head: plain("text/xml"), body: `<?xml-stylesheet href="/d/x.xsl"?><x href="/i.png"/>`},
		got{url: "http://a.test/d/x.xsl", head: plain("text/xsl"), body: `<xsl:include href="/d/x.xsl"/>`},
		got{url: "http://a.test/m.html", body: `<script type=module>import "/m.js?v=1"</script><amp-img src="/i.png"></amp-img><noframes><a href=/m.html>x</a></noframes><math href=/i.png></math><amp-story poster-portrait-src="/i.png" publisher-logo-src="/i.png"></amp-story><portal src="/m.html"></portal>`},
		got{url: "http://a.test/i.png", body: "i"})
	built(t, options(t, dir))
	tree := treeOf(t, Tree(dir))
	for name, want := range map[string]string{
		"a.test/d/site.webmanifest": `{"icons":[{"src":"../i.png"}]}`,
		"a.test/d/x.webmanifest":    `{"icons":[{"src":"../i.png"}]}`,
		"a.test/d/manifest.json":    `{"icons":[{"src":"../i.png"}]} `,
		"a.test/d/data.json":        manifest + "  ",
		"a.test/d/s.css":            "a{b:url(../i.png)}",
		"a.test/m@v=1.js":           `import a from "./n@v=2.js"; export * from "http://a.test/gone.js"; load("o.js")`,
		"a.test/n@v=2.js":           `load("/o.js")`,
		"a.test/x.xml":              `<?xml-stylesheet href="d/x.xsl"?><x href="/i.png"/>`,
		"a.test/d/x.xsl":            `<xsl:include href="x.xsl"/>`,
		"a.test/m.html":             `<script type=module>import "./m@v=1.js"</script><amp-img src="i.png"></amp-img><noframes><a href="m.html">x</a></noframes><math href="i.png"></math><amp-story poster-portrait-src="i.png" publisher-logo-src="i.png"></amp-story><portal src="m.html"></portal>`,
	} {
		assert.Equal(t, want, tree[name], name)
	}
	assert.EqualValues(t, 2, missingOf(t, dir)["http://a.test/o.js"].Scripts, "the names in a module are not listed")
	edit(t, filepath.Join(Tree(dir), "a.test", "d", "manifest.json"), `{"icons":[{"src":"../j.png"}]}`)
	wrong, _ := brokenOf(t, dir)
	assert.Truef(t, len(wrong) == 1, "a check finds %v", wrong)
}

func TestKind_ManifestNameMayMislead(t *testing.T) {
	dir := t.TempDir()
	crawled(t, dir, got{url: "http://a.test/manifest.json", head: "200 OK\r\nContent-Type: application/json", body: "[not JSON"})
	s := built(t, options(t, dir))
	assert.Truef(t, s.Files == 1 && s.Unread == 1, "%+v", s)
	assert.Equal(t, "[not JSON", treeOf(t, Tree(dir))["a.test/manifest.json"], "its copy")
}

func TestLeniencesAreNoNotes(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "w.warc.gz"))
	require.NoError(t, err)
	for i := range 150 {
		w := gzip.NewWriter(f)
		body := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n%d", i)
		fmt.Fprintf(w, "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:%08d-0000-4000-8000-000000000000>\r\nWARC-Date: 2026-01-02T03:04:05Z\r\nWARC-Target-URI: <http://a.test/%d>\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", i, i, len(body), body)
		require.NoError(t, w.Close())
	}
	fmt.Fprint(f, "this is no record")
	require.NoError(t, f.Close())
	s := built(t, Options{Archive: Archive{Segments: []string{f.Name()}}, Dir: dir, hasty: true})
	assert.Truef(t, s.Files == 150 && len(s.Notes) == 1 && strings.Contains(s.Notes[0], "garbage"), "%d files, notes %q", s.Files, s.Notes)
}
