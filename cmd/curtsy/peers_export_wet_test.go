//go:build peers

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/foreigntest"
	"curtsy/storage/warc"
)

// warcio reads the text, its languages, and the archived record, as Common Crawl's readers do.
func TestPeers_WarcioReadsTexts(t *testing.T) {
	t.Parallel()
	modules := foreigntest.Clients(t)
	const german = "Die Fähre verlässt den alten Hafen um sieben Uhr morgens, und wer sie verpasst, wartet einen Tag auf die nächste."
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<title>Fähren</title><p>" + german + "</p><a href=/empty>nichts</a><a href=/none>404</a>"))
		case "/empty":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<script>1</script>"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	dir := filepath.Join(t.TempDir(), "crawl")
	if r := inside(t, "crawl", "--quiet", "--dir", dir, site.URL+"/"); r.code != cli.ExitDone {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	out := t.TempDir()
	inside(t, "export", "--format", "wet", "-o", out, dir).want(t, cli.ExitDone)
	path := filepath.Join(out, "text.warc.wet.gz")
	type record struct{ Type, URL, Date, Refers, Languages, Media, Text string }
	var got []record
	for line := range strings.Lines(foreignScript(t, modules, "wet.mjs", "", path)) {
		var r record
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		got = append(got, r)
	}
	if len(got) != 2 || got[0].Type != "warcinfo" {
		t.Fatalf("%+v", got)
	}
	text := got[1]
	archived := archivedAs(t, dir, site.URL+"/")
	want := record{"conversion", site.URL + "/", text.Date, "<" + archived.ID() + ">", "deu", "text/plain", "Fähren\n" + german + "\nnichts404\n"}
	assert.Equalf(t, want, text, "%+v\nwant\n%+v", text, want)
	if date := archived.Fields.Get("WARC-Date"); len(text.Date) != len("2026-11-23T07:00:00Z") || date[:19] != text.Date[:19] {
		t.Errorf("date %s, of the archived record %s", text.Date, date)
	}
	inside(t, "warc", "check", path).want(t, cli.ExitDone)
}

func archivedAs(t *testing.T, dir, url string) *warc.Record {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "warc", "curtsy-00000.warc.gz"))
	require.NoError(t, err)
	defer f.Close()
	for r := warc.NewReader(f); ; {
		rec, err := r.Next()
		require.NoErrorf(t, err, "no response of %s", url)
		if rec.Type == "response" && rec.TargetURI() == url {
			return rec
		}
	}
}
