package main

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger"
)

// After a kill the status has each exchange that the ledger tells of, before the crawl goes on and behind that. The audit
// has these, and those that no line tells of.
func TestStatusAndAuditCountTheSameExchangesAfterAKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a crawl in another process")
	}
	s := newStrangers(t, 30, 3)
	dir := filepath.Join(t.TempDir(), "crawl")
	p := launched(t, curtsy(t, append([]string{"crawl", "--own-site", "none", "--dir", dir, "--quiet"}, s.seeds...)...))
	p.until(t, "some requests", func() bool { return s.requests() >= 65 })
	if !p.kill() {
		t.Fatal("it ended before the kill came")
	}
	for _, when := range []string{"killed", "resumed"} {
		if when == "resumed" {
			ended(t, curtsy(t, "resume", "--max-time", "2s", "--quiet", dir)).want(t, cli.ExitDone)
		}
		told, err := ledger.Asked(inDir(dir, crawldir.LedgerName), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		var status struct {
			Exchanges, Bytes int64
			Robots           int64 `json:"robots_exchanges"`
		}
		decoded(t, &status, "status", dir)
		if status.Exchanges != told.Exchanges || status.Robots != told.Robots || status.Bytes != told.Octets || told.Exchanges < 30 {
			t.Errorf("%s: %+v by the status, %+v by the ledger", when, status, told)
		}
		var audit struct {
			Totals struct{ Exchanges int64 }
			Ledger struct{ Untold int64 }
		}
		decoded(t, &audit, "audit", dir)
		if more := audit.Totals.Exchanges - told.Exchanges; more < 0 || more > audit.Ledger.Untold {
			t.Errorf("%s: %d exchanges by the audit, %d by the ledger; of %d no line tells", when, audit.Totals.Exchanges, told.Exchanges, audit.Ledger.Untold)
		}
	}
}

// decoded runs a command with --json and reads what it prints.
func decoded(t *testing.T, into any, verb, dir string) {
	t.Helper()
	r := inside(t, verb, "--json", dir)
	r.want(t, cli.ExitDone)
	if err := json.Unmarshal([]byte(r.out), into); err != nil {
		t.Fatal(err)
	}
}
