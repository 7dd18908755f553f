package crawldir

import (
	"os"
	"path/filepath"

	"curtsy/crawler/control"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/engine"
	"curtsy/storage/mirror"
	"curtsy/storage/redact"
)

// The names in a crawl directory.
const (
	ConfigName   = "crawl.toml"            // the effective settings
	ConfigBefore = ConfigName + ".before-" // begins the names of settings before, until a run has begun with others
	FrontierName = engine.FileName         // the URLs to crawl, and those crawled
	ArchiveName  = "warc"                  // the archive
	LedgerName   = "ledger"                // the decisions
	IndexName    = "index"                 // places in the archive by URL; rebuilt if it is missing
	LinksName    = "links"                 // excerpts of pages that earlier versions kept
	SpoolName    = "spool"                 // bodies under way; emptied at each start
	ChangesName  = "changes.json"          // changes of the last generation
	ReportName   = "report"                // the report, as .html and .json
	ServedName   = "served-folder"         // the folder that the crawl itself served, if it did
	BadSeedsName = "bad-seeds.txt"         // lines of a seed list that were passed over

	NextName    = FrontierName + ".update"  // the frontier of the next generation while it is built
	RebuiltName = FrontierName + ".rebuilt" // one that is rebuilt, until it takes the place of the damaged one
)

// in is the path of a name in a crawl directory.
func in(dir, name string) string { return filepath.Join(dir, name) }

// Place is what a crawl directory calls its own: no file that a user names is written over it.
func Place() userfile.Place {
	return userfile.Place{
		Names: []string{
			ConfigName, FrontierName, NextName, ArchiveName, LedgerName, IndexName, LinksName, SpoolName, OptOutName, BadSeedsName, ServedName, ChangesName,
			control.File, control.WatchFile, redact.JournalName, redact.PreparedName, mirror.Tree(""), ReportName + ".html", ReportName + ".json",
		},
		Is: func(dir string) bool {
			_, err := os.Lstat(in(dir, FrontierName))
			return err == nil || isFolder(in(dir, ArchiveName)) && isFolder(in(dir, LedgerName))
		},
	}
}

func isFolder(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}
