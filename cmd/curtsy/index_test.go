package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
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
		b := fileOf(t, path)
		text[filepath.Base(path)] = string(b)
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
func TestAnIndexMadeAnewLeavesAKillToTheNextRun(t *testing.T) {
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
