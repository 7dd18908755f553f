package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// entriesIn returns the paths of the files in dir whose names begin and hold so. A dir that is not there has none. It is
// for names that users choose: filepath.Glob would take those with brackets in them, as IPv6 hosts have, for patterns.
func entriesIn(dir, prefix, part string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.Contains(e.Name(), part) {
			paths = append(paths, inDir(dir, e.Name()))
		}
	}
	return paths, err
}

func inDir(dir, name string) string { return filepath.Join(dir, name) }
