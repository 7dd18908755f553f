package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

func TestADamagedLedgerKeyIsNeitherPrintedNorRotated(t *testing.T) {
	home(t, "")
	path, err := crawldir.LedgerKey.Path()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ledger", "key"}, {"ledger", "key", "--rotate"}} {
		if r := atHome(t, args...); r.code != cli.ExitFailed || r.out != "" || !strings.Contains(r.err, "is damaged") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "no key\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// The verifier key stands in the archive, in the report, and in what the audit says.
func TestTheVerifierKeyIsNamedWhereverACrawlIsDescribed(t *testing.T) {
	home(t, "")
	key := strings.TrimSpace(atHome(t, "ledger", "key").out)
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	if !strings.Contains(archiveText(t, dir), "\r\nledger-key: "+key+"\r\n") {
		t.Error("warcinfo does not name it")
	}
	atHome(t, "report", dir).want(t, cli.ExitDone)
	page, err := os.ReadFile(filepath.Join(dir, crawldir.ReportName+".html"))
	if err != nil || !strings.Contains(strings.ReplaceAll(string(page), "&#43;", "+"), "<dt>Verifier key</dt><dd><code>"+key+"</code></dd>") {
		t.Errorf("the report does not name it: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, crawldir.ReportName+".json"))
	if err != nil || !strings.Contains(string(b), `"verifier_key": "`+key+`"`) && !strings.Contains(string(b), `"verifier_key":"`+key+`"`) {
		t.Errorf("the report's JSON does not name it: %v", err)
	}
	audited := atHome(t, "audit", dir)
	if said := strings.Join(strings.Fields(audited.out+audited.err), " "); !strings.Contains(said, "ledger key "+key) {
		t.Errorf("the audit does not name it:\n%s", said)
	}
}
