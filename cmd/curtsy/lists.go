package main

import (
	"fmt"
	"net/netip"
	"path/filepath"

	"curtsy/crawler"
	"curtsy/crawler/optout"
	"curtsy/storage/warc"
)

// optOutName is the name of an opt-out list in a crawl directory and in the user's configuration folder.
const optOutName = "optout.txt"

// userOptOut is the path of the user's own opt-out list.
func userOptOut() (string, error) {
	config, err := userConfig()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(config), optOutName), nil
}

// optOutFiles are the lists that bind a crawl in dir, or one that has no directory yet: those that were named, which
// must be there, then the user's own and the crawl's, which may come later.
func (s *settings) optOutFiles(dir string) []optout.File {
	var files []optout.File
	for _, path := range s.optOut {
		files = append(files, optout.File{Path: path})
	}
	if path, err := userOptOut(); err == nil {
		files = append(files, optout.File{Path: path, MayMiss: true})
	}
	if dir != "" {
		files = append(files, optout.File{Path: inDir(dir, optOutName), MayMiss: true})
	}
	return files
}

// checkManners refuses lists and choices that cannot be obeyed. Paths become absolute: resume may be called elsewhere.
func (s *settings) checkManners() error {
	if s.caFile != "" {
		var err error
		if s.caFile, err = filepath.Abs(s.caFile); err != nil {
			return usagef("--ca-file %s: %w", s.caFile, err)
		}
	}
	for i, path := range s.optOut {
		var err error
		if s.optOut[i], err = filepath.Abs(path); err != nil {
			return usagef("--opt-out %s: %w", path, err)
		}
	}
	if err := s.checkDedup(); err != nil {
		return err
	}
	if _, err := optout.Open(s.optOutFiles(""), nil); err != nil {
		return usagef("--opt-out: %w", err)
	}
	if err := crawler.CheckFollowRel(s.followRel); err != nil {
		return usagef("--follow-rel: %w", err)
	}
	return nil
}

// openLists opens the lists that bind the crawl in dir.
func (s *settings) openLists(dir string, say func(string, ...any)) (err error) {
	if s.lists, err = optout.Open(s.optOutFiles(dir), say); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// refuse says which entry an address is under.
func (s *settings) refuse(a netip.Addr) error {
	if hit := s.lists.Addr(a); hit != nil {
		return hit
	}
	return nil
}

// listFields name the lists in force in the archive.
func (s *settings) listFields() warc.Fields {
	var fields warc.Fields
	for _, v := range s.lists.Versions() {
		fields = append(fields, warc.Field{Name: "opt-out-list", Value: fmt.Sprintf("%s sha256:%s (%s)", v.File, v.SHA256, entries(v.Entries))})
	}
	return fields
}

// entries counts those of a list.
func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
