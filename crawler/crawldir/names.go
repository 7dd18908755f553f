package crawldir

import (
	"path/filepath"

	"curtsy/frontier/engine"
)

// The names in a crawl directory.
const (
	ConfigName   = "crawl.toml"    // the effective settings
	FrontierName = engine.FileName // what is next, and what was done
	ArchiveName  = "warc"          // the archive
	LedgerName   = "ledger"        // the decisions
	IndexName    = "index"         // where the archive has what; made anew when it is missing
	SpoolName    = "spool"         // bodies under way; emptied at each start
)

// in is the path of a name in a crawl directory.
func in(dir, name string) string { return filepath.Join(dir, name) }
