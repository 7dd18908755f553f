package cli

import (
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
)

// MayWrite refuses to let an option write a file of a kind where something else stands.
func MayWrite(option, path string, k userfile.Kind) error {
	if path == "" {
		return nil
	}
	if err := k.Writable(path, crawldir.Place()); err != nil {
		return Usagef("%s: %w", option, err)
	}
	return nil
}
