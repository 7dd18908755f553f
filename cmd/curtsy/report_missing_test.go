package main

import (
	"os"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// A crawl whose ledger is gone is told so, and not that there is no crawl.
func TestReportOfACrawlWithoutItsLedger(t *testing.T) {
	t.Parallel()
	dir := crawledBakery(t)
	if err := os.RemoveAll(inDir(dir, crawldir.LedgerName)); err != nil {
		t.Fatal(err)
	}
	inside(t, "report", dir).want(t, cli.ExitFailed, inDir(dir, crawldir.LedgerName)+" is missing")
}
