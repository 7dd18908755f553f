package crawldir

import (
	"fmt"
	"net/netip"
	"path/filepath"

	"curtsy/crawler"
	"curtsy/storage/optout"
	"curtsy/storage/warc"
)

// OptOutName is the name of an opt-out list in a crawl directory and in the user's configuration folder.
const OptOutName = "optout.txt"

// UserOptOut is the path of the user's own opt-out list.
func UserOptOut() (string, error) {
	config, err := UserConfig()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(config), OptOutName), nil
}

// optOutFiles are the lists that bind a crawl in dir, or one that has no directory yet: those that were named, which
// must be there, then the user's own and the crawl's, which may come later.
func (s *Settings) optOutFiles(dir string) []optout.File {
	var files []optout.File
	for _, path := range s.OptOut {
		files = append(files, optout.File{Path: path})
	}
	if path, err := UserOptOut(); err == nil {
		files = append(files, optout.File{Path: path, MayMiss: true})
	}
	if dir != "" {
		files = append(files, optout.File{Path: in(dir, OptOutName), MayMiss: true})
	}
	return files
}

// checkManners refuses lists and choices that cannot be obeyed. Paths become absolute: resume may be called elsewhere.
func (s *Settings) checkManners() error {
	if s.CAFile != "" {
		var err error
		if s.CAFile, err = filepath.Abs(s.CAFile); err != nil {
			return misuse("--ca-file %s: %w", s.CAFile, err)
		}
	}
	if err := s.absolute(); err != nil {
		return misuse("%w", err)
	}
	for i, path := range s.OptOut {
		var err error
		if s.OptOut[i], err = filepath.Abs(path); err != nil {
			return misuse("--opt-out %s: %w", path, err)
		}
	}
	if err := s.checkDedup(); err != nil {
		return err
	}
	if _, err := optout.Open(s.optOutFiles(""), nil); err != nil {
		return misuse("--opt-out: %w", err)
	}
	if err := crawler.CheckFollowRel(s.FollowRel); err != nil {
		return misuse("--follow-rel: %w", err)
	}
	return nil
}

// OpenLists opens the lists that bind the crawl in dir.
func (s *Settings) OpenLists(dir string, say func(string, ...any)) (err error) {
	if s.lists, err = optout.Open(s.optOutFiles(dir), say); err != nil {
		return misuse("%w", err)
	}
	return nil
}

// refuse says which entry an address is under.
func (s *Settings) refuse(a netip.Addr) error {
	if hit := s.lists.Addr(a); hit != nil {
		return hit
	}
	return nil
}

// listFields name the lists in force in the archive.
func (s *Settings) listFields() warc.Fields {
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
