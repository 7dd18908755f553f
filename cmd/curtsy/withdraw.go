package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"curtsy/crawler"
	"curtsy/crawler/fetch"
	"curtsy/storage/plainly"
)

// nobodyThere reports whether nothing came of a crawl but that no host of that name exists: most often one was mistyped.
func nobodyThere(s crawler.Summary) bool {
	return s.EndedBy == crawler.EndedWaiting && s.Status.Bytes == 0 && s.Status.Exchanges == 0 &&
		len(s.Status.Failures) == 1 && s.Status.Failures[string(fetch.NXDomain)] > 0
}

// withdraw takes a directory away that this command made and that has nothing in it, so that the command can be given
// again with the right name.
func withdraw(o *options, s crawler.Summary, std stdio) error {
	entries, err := os.ReadDir(o.dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(o.dir, e.Name())))
	}
	if err == nil {
		_ = os.Remove(o.dir) // not where the user is, or what is mounted there
	}
	for i, r := range s.Status.Resting {
		if i == maxShown {
			fmt.Fprintf(std.err, "… and %s\n", several(int64(len(s.Status.Resting)-i), "other"))
			break
		}
		fmt.Fprintf(std.err, "%s: %s\n", oneLine(r.Host), plainly.Reason(string(fetch.NXDomain)))
	}
	fmt.Fprintf(std.err, "curtsy: nothing was fetched, and nothing is kept in %s: give the command again with the right name\n", plain(o.dir))
	if o.json {
		err = errors.Join(err, writeJSON(std.out, s))
	}
	return errors.Join(err, silent(exitIncomplete))
}
