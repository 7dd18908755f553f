package main

import (
	"archive/zip"
	"io"
	"path/filepath"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// unzipped is what a WACZ file holds.
func unzipped(t *testing.T, path string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		all[f.Name] = string(b)
	}
	return all
}

// crawledBakery is a finished crawl.
func crawledBakery(t *testing.T, flags ...string) (dir string) {
	t.Helper()
	seed, _ := small(t)
	dir = filepath.Join(t.TempDir(), "d")
	inside(t, append([]string{"crawl", "--delay", "0", "--quiet", "--dir", dir, seed}, flags...)...).want(t, cli.ExitDone)
	return dir
}

func segmentsOf(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.warc.gz"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%q, %v", paths, err)
	}
	return paths
}
