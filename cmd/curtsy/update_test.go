package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/warc"
)

// changesOf reads the file of an update.
func changesOf(t *testing.T, dir string) (counts map[string]int64, of map[string]crawldir.Change) {
	t.Helper()
	b := fileOf(t, inDir(dir, crawldir.ChangesName))
	var file struct {
		Counts  map[string]int64
		Changes []crawldir.Change `json:"changes"`
	}
	require.NoError(t, json.Unmarshal(b, &file), string(b))
	of = map[string]crawldir.Change{}
	sum := int64(0)
	for _, c := range file.Changes {
		of[c.URL[strings.Index(c.URL[8:], "/")+8:]] = c
	}
	for _, n := range file.Counts {
		sum += n
	}
	if !slices.IsSortedFunc(file.Changes, func(a, b crawldir.Change) int { return strings.Compare(a.URL, b.URL) }) || sum != int64(len(file.Changes)) || len(of) != len(file.Changes) {
		t.Errorf("the changes are not sorted, or not all of them: %s", b)
	}
	return file.Counts, of
}

// archiveClean runs curtsy warc check on every segment, and checks that each revisit refers to a response.
func archiveClean(t *testing.T, dir string) (revisits map[string]int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.warc.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	inside(t, append([]string{"warc", "check"}, files...)...).want(t, cli.ExitDone)
	revisits = map[string]int{}
	responses := map[string]bool{} // by URL, date and name
	var referring []warc.Fields
	recordsIn(t, dir, func(rec *warc.Record) {
		switch rec.Type {
		case "response":
			responses[rec.TargetURI()+" "+rec.Fields.Get("WARC-Date")+" "+rec.ID()] = true
		case "revisit":
			profile := rec.Fields.Get("WARC-Profile")
			revisits[profile[strings.LastIndex(profile, "/")+1:]]++
			referring = append(referring, slices.Clone(rec.Fields))
		}
	})
	for _, fields := range referring {
		to := func(name string) string { return strings.Trim(fields.Get("WARC-Refers-To"+name), "<>") }
		if original := to("-Target-URI") + " " + to("-Date") + " " + to(""); !responses[original] {
			t.Errorf("the revisit of %s refers to nothing: %s", fields.Get("WARC-Target-URI"), original)
		}
	}
	indexHolds(t, dir)
	return revisits
}

// A frontier that is rebuilt during an update takes the outcomes of this generation only.
func TestARebuiltUpdateGoesOn(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 9))
	inside(t, "update", "--quiet", "--max-pages", "2", dir).want(t, cli.ExitDone)
	b := fileOf(t, inDir(dir, crawldir.FrontierName))
	kept := 0
	page := os.Getpagesize()
	for at := 2 * page; at < len(b) && kept < 2; at += page {
		copied := filepath.Join(t.TempDir(), "d")
		require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
		spoilt := slices.Concat(b[:at], bytes.Repeat([]byte{0xa5}, page), b[at+page:])
		require.NoError(t, os.WriteFile(inDir(copied, crawldir.FrontierName), spoilt, 0o600))
		inside(t, "frontier", "repair", copied).want(t, cli.ExitDone)
		inside(t, "resume", "--quiet", "--max-pages", "0", copied)
		if r := inside(t, "status", "--json", copied); !strings.Contains(r.out, `"generation": 2`) {
			continue // the generation is lost with the totals: it continues as a crawl
		}
		kept++
		if counts, _ := changesOf(t, copied); counts["unchanged"] != 9 || counts[crawldir.Unlinked] != 0 {
			t.Errorf("without page %d: %v", at/page, counts)
		}
	}
	assert.NotEqual(t, 0, kept, "no page was lost that matters")
}
