package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/cdxj"
)

func indexText(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := cdxj.Files(dir)
	require.NoError(t, err)
	text := map[string]string{}
	for _, path := range files {
		text[filepath.Base(path)] = string(fileOf(t, path))
	}
	return text
}

// indexHolds checks the index of a closed crawl against its archive.
func indexHolds(t *testing.T, dir string) {
	t.Helper()
	rebuilt := t.TempDir()
	require.NoError(t, cdxj.Rebuild(t.Context(), inDir(dir, crawldir.ArchiveName), rebuilt, nil))
	if kept, want := indexText(t, inDir(dir, crawldir.IndexName)), indexText(t, rebuilt); !maps.Equal(kept, want) {
		t.Errorf("the index is\n%v\nthe archive gives\n%v", kept, want)
	}
}

// The next run after a kill reports it, also if the index was rebuilt in between.
func TestWARCIndex_LeavesKillToNextRun(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 2))
	path := filepath.Join(dir, crawldir.FrontierName)
	f, err := engine.Open(path, frontier.Options{})
	require.NoError(t, err)
	killed, err := os.ReadFile(path)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.WriteFile(path, killed, 0o600)
	}
	require.NoError(t, err)
	inside(t, "warc", "index", dir).want(t, cli.ExitDone)
	var status struct{ Killed bool }
	decoded(t, &status, "status", dir)
	assert.True(t, status.Killed, "the kill is forgotten")
}

func decoded(t *testing.T, into any, verb, dir string) {
	t.Helper()
	r := inside(t, verb, "--json", dir)
	r.want(t, cli.ExitDone)
	require.NoError(t, json.Unmarshal([]byte(r.out), into))
}

func TestARecordOnATerminalIsPlain(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if n, err := (plainWriter{&b}).Write([]byte("a\x1b[2J")); n != 5 || err != nil || b.String() != `a\x1b[2J` {
		t.Errorf("%q, %d, %v", b.String(), n, err)
	}
}

// warc cat prints a damaged record as far as it goes, and reports the damage.
func TestWARCCat_ReportsDamage(t *testing.T) {
	t.Parallel()
	dir, web := crawledOnce(t, crawltest.Tree("bakery.test", 1))
	path, url := inDir(dir, crawldir.ArchiveName+"/curtsy-00000.warc.gz"), web.LoopbackURL("bakery.test")
	whole := inside(t, "warc", "cat", path, "--url", url)
	whole.want(t, cli.ExitDone)
	for line := range strings.Lines(string(fileOf(t, inDir(dir, crawldir.IndexName+"/curtsy-00000.cdxj")))) {
		l, err := cdxj.ParseLine([]byte(line))
		require.NoError(t, err)
		if l.URL != url {
			continue
		}
		b := fileOf(t, path)
		b[l.Offset+l.Length-8] ^= 1
		require.NoError(t, os.WriteFile(path, b, 0o600))
	}
	for _, flags := range [][]string{nil, {"--payload"}} {
		r := inside(t, append([]string{"warc", "cat", path, "--url", url}, flags...)...)
		if r.want(t, cli.ExitFailed, "of "+path+" is damaged: "); !strings.HasSuffix(whole.out, r.out) || r.out == "" {
			t.Errorf("%v prints %q", flags, r.out)
		}
	}
}
