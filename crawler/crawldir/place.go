package crawldir

import (
	"os"

	"curtsy/crawler/control"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/storage/mirror"
)

// Place is what a crawl directory calls its own: no file that a user names is written over it.
func Place() userfile.Place {
	return userfile.Place{
		Names: []string{
			ConfigName, FrontierName, NextName, ArchiveName, LedgerName, IndexName, SpoolName, OptOutName, BadSeedsName, ChangesName,
			control.File, mirror.Tree(""), ReportName + ".html", ReportName + ".json",
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
