package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"curtsy/storage/cdxj"
)

// checkDedup refuses earlier indexes that are not there. Their paths become absolute: resume may be called elsewhere.
func (s *settings) checkDedup() error {
	for i, path := range s.dedup {
		var err error
		if s.dedup[i], err = filepath.Abs(path); err != nil {
			return usagef("--dedup %s: %w", path, err)
		}
		if _, err := indexFiles(s.dedup[i]); err != nil {
			return usagef("--dedup %s: %w", path, err)
		}
	}
	return nil
}

// indexFiles returns the files that path means: itself, or those of an index folder or of a crawl directory.
func indexFiles(path string) ([]string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return []string{path}, nil
	}
	for _, dir := range []string{inDir(path, indexName), path} {
		files, err := cdxj.Files(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = complete(files)
		if len(files) > 0 {
			return files, nil
		}
	}
	return nil, fmt.Errorf("there is no CDXJ file in it; of a crawl directory make them with curtsy warc index %s", word(path))
}

// complete leaves out the journals of segments that are being written.
func complete(files []string) (done []string) {
	for _, path := range files {
		if !strings.HasSuffix(path, ".open") {
			done = append(done, path)
		}
	}
	return done
}

// openIndex opens the index of the crawl in dir, and those of earlier crawls.
func openIndex(ctx context.Context, dir string, earlier []string, say func(string, ...any)) (*cdxj.Store, error) {
	var files []string
	for _, path := range earlier {
		of, err := indexFiles(path)
		if err != nil {
			return nil, fmt.Errorf("--dedup %s: %w", path, err)
		}
		files = append(files, of...)
	}
	if _, err := os.Stat(inDir(dir, indexName)); errors.Is(err, fs.ErrNotExist) {
		if archived, err := entriesIn(inDir(dir, warcName), "", ""); err == nil && len(archived) > 0 {
			say("%s is missing: it is made anew from the archive", inDir(dir, indexName))
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
