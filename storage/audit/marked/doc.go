// Package marked holds the files of a crawl directory against the marks that its ledger has of them: each finished file
// of archive and index is as the last mark of its name says, each mark has its file, and no finished file is without a
// mark. The settings are those that the last run's mark binds.
//
// A mark is durable before the crawl goes on, so a kill leaves at most the last file of its run without one: that is
// named, and accuses nobody. A mark of a redaction takes the place of the mark of a file that it wrote anew.
package marked
