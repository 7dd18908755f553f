package crawldir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"curtsy/storage/cdxj"
)

// checkDedup refuses earlier indexes that are not there. Their paths become absolute: resume may be called elsewhere.
func (s *Settings) checkDedup() error {
	for i, path := range s.Dedup {
		var err error
		if s.Dedup[i], err = filepath.Abs(path); err != nil {
			return misuse("--dedup %s: %w", path, err)
		}
		if _, err := IndexFiles(s.Dedup[i]); err != nil {
			return misuse("--dedup %s: %w", path, err)
		}
	}
	return nil
}

// IndexFiles returns the files that path means: itself, or those of an index folder or of a crawl directory.
func IndexFiles(path string) ([]string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return []string{path}, nil
	}
	for _, dir := range []string{in(path, IndexName), path} {
		files, err := cdxj.Files(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = Complete(files)
		if len(files) > 0 {
			return files, nil
		}
	}
	return nil, &DirError{path, ErrNoIndex, "no CDXJ file in it"}
}

// Complete leaves out the journals of segments that are being written.
func Complete(files []string) (done []string) {
	for _, path := range files {
		if !strings.HasSuffix(path, ".open") {
			done = append(done, path)
		}
	}
	return done
}
