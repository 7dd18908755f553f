package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"curtsy/crawler/crawldir"
)

// openedDir opens a crawl directory as resume does.
func openedDir(t *testing.T, dir string) *crawldir.Dir {
	t.Helper()
	d, err := crawldir.Open(t.Context(), dir, crawldir.Options{Say: func(n crawldir.Note) { t.Log(n.Text) }})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func itoa(n int) string { return strconv.Itoa(n) }

// noise is text that no compression makes smaller, the same for the same seed.
func noise(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return string(b)
}

// home gives the test a configuration folder of its own, with a file in it.
func home(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
	path, err := crawldir.UserConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func inDir(dir, name string) string { return filepath.Join(dir, name) }
