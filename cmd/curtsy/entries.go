package main

import "path/filepath"

// inDir is the path of a name in a directory.
func inDir(dir, name string) string { return filepath.Join(dir, name) }
