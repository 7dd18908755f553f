package main

import (
	"os"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/storage/mirror"
)

// crawlPlace is what a crawl directory calls its own.
var crawlPlace = userfile.Place{
	Names: []string{
		crawldir.ConfigName, crawldir.FrontierName, crawldir.NextName, crawldir.ArchiveName, crawldir.LedgerName, crawldir.IndexName, crawldir.SpoolName, crawldir.OptOutName, crawldir.BadSeedsName, crawldir.ChangesName,
		crawler.ControlFile, mirror.Tree(""), reportName + ".html", reportName + ".json",
	},
	Is: func(dir string) bool {
		_, err := os.Lstat(inDir(dir, crawldir.FrontierName))
		return err == nil || isDir(inDir(dir, crawldir.ArchiveName)) && isDir(inDir(dir, crawldir.LedgerName))
	},
}

// mayWriteTo refuses to let an option write a file of a kind where something else stands.
func mayWriteTo(option, path string, k userfile.Kind) error {
	if path == "" {
		return nil
	}
	if err := k.Writable(path, crawlPlace); err != nil {
		return usagef("%s: %w", option, err)
	}
	return nil
}
