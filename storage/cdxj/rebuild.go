package cdxj

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"strings"

	"curtsy/frontier/durable"
)

// Rebuild makes the index in indexDir anew from the archive in warcDir alone. Nobody may be writing either. A segment
// that a killed crawl left open gets a journal, up to where it is torn. Indexes of segments that are gone are removed.
// It tells damaged, unless that is nil, of each segment that could not be read from end to end.
func Rebuild(ctx context.Context, warcDir, indexDir string, damaged func(what string)) error {
	if damaged == nil {
		damaged = func(string) {}
	}
	if err := rebuild(ctx, warcDir, indexDir, damaged); err != nil {
		return fmt.Errorf("cdxj: rebuild the index: %w", err)
	}
	return nil
}

func rebuild(ctx context.Context, archive, index string, damaged func(string)) (err error) {
	if _, err := os.Stat(archive); err != nil {
		return err
	}
	complete, open, err := segmentsIn(archive)
	if err != nil {
		return err
	}
	if err := durable.MakeFolder(index); err != nil {
		return err
	}
	if err := tidy(index); err != nil {
		return err
	}
	// The new log replaces the old one at the end. Until then the old one stays good: it names nothing that is gone.
	s := &Store{index: index, archive: archive, seed: maphash.MakeSeed()}
	defer func() { err = errors.Join(err, s.release()) }()
	path := filepath.Join(index, logName)
	if s.log, err = openLog(path+newSuffix, func(original, int64) {}); err != nil {
		return err
	}
	made := map[string]bool{logName: true, logName + newSuffix: true}
	for _, file := range complete {
		if err := s.remake(ctx, filepath.Join(archive, file), file, false); err != nil {
			return err
		}
		if err := s.complete(ctx, file); err != nil {
			return err
		}
		made[indexName(file)] = true
	}
	for _, file := range open {
		if err := s.remake(ctx, filepath.Join(archive, file)+openSuffix, file, true); err != nil {
			return err
		}
		made[indexName(file)+openSuffix] = true
	}
	for _, what := range s.damaged {
		damaged(what)
	}
	if err := s.release(); err != nil { // before the rename: Windows renames no open file
		return err
	}
	s.log = nil
	if err := os.Rename(path+newSuffix, path); err != nil {
		return err
	}
	return errors.Join(removeOthers(index, made), durable.Names(index))
}

func removeOthers(index string, made map[string]bool) error {
	entries, err := os.ReadDir(index)
	for _, e := range entries {
		name := e.Name()
		if !made[name] && strings.HasSuffix(strings.TrimSuffix(name, openSuffix), suffix) {
			err = errors.Join(err, os.Remove(filepath.Join(index, name)))
		}
	}
	return err
}
