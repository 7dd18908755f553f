package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"curtsy/crawler/crawldir"
)

// archiveText is all of a crawl's archive, decompressed.
func archiveText(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no archive: %v", err)
	}
	var text []byte
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	return string(text)
}
