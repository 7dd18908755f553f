package main

import (
	"os"
	"path/filepath"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/graph"
	"curtsy/storage/plainly"
	"curtsy/storage/tables/sink"
)

// mayHold refuses a folder that cannot take what is made, and one within a crawl directory: what is exported is no part
// of a crawl, so that neither the audit nor a takedown would know it.
func mayHold(out string) error {
	if fi, err := os.Stat(out); err == nil && !fi.IsDir() {
		return cli.Usagef("--output: %s is a file: name a folder", plainly.Lines(out))
	}
	dir, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	for is := crawldir.Place().Is; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if is(dir) {
			return cli.Usagef("--output: %s is inside the crawl directory %s: use a path outside", plainly.Lines(out), plainly.Lines(dir))
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// noFormat is the error of a word that is no format.
func noFormat(word string) error {
	var all []string
	for _, f := range sink.Formats() {
		all = append(all, string(f))
	}
	all = append(all, string(sink.WET), graph.Name, formatWACZ)
	near := ""
	if n := plainly.Nearest(word, all); n != "" {
		near = "; did you mean " + n + "?"
	}
	return cli.Usagef("--format: no format %q%s; there are %s", word, near, strings.Join(all, ", "))
}
