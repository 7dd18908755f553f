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
	ChangesName  = "changes.json"  // what changed in the last generation
	ReportName   = "report"        // what the crawl did, as .html and .json
	BadSeedsName = "bad-seeds.txt" // lines of a seed list that were passed over

	NextName    = FrontierName + ".update"  // the frontier of the next generation while it is built
	RebuiltName = FrontierName + ".rebuilt" // one that is rebuilt, until it takes the place of the damaged one
)

// in is the path of a name in a crawl directory.
func in(dir, name string) string { return filepath.Join(dir, name) }
