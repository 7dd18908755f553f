package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"curtsy/crawler/crawldir"
	"curtsy/storage/cdxj"
)

// openIndex opens the index of the crawl in dir, and those of earlier crawls.
func openIndex(ctx context.Context, dir string, earlier []string, say func(string, ...any)) (*cdxj.Store, error) {
	var files []string
	for _, path := range earlier {
		of, err := crawldir.IndexFiles(path)
		if err != nil {
			return nil, fmt.Errorf("--dedup %s: %w", path, err)
		}
		files = append(files, of...)
	}
	if _, err := os.Stat(inDir(dir, crawldir.IndexName)); errors.Is(err, fs.ErrNotExist) {
		if archived, err := entriesIn(inDir(dir, crawldir.ArchiveName), "", ""); err == nil && len(archived) > 0 {
			say("%s is missing: it is made anew from the archive", inDir(dir, crawldir.IndexName))
		}
	}
	index, err := cdxj.Open(ctx, dir, files)
	if err != nil {
		return nil, err
	}
	for _, what := range index.Damaged() {
		say("%s; see curtsy warc check", what)
	}
	for _, note := range index.Notes() {
		say("--dedup %s", note)
	}
	return index, nil
}
