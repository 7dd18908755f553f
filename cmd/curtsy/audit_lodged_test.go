package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// lodgedHead: the head that curtsy itself prints is found, another is named, and lines behind it are counted.
func lodgedHead(t *testing.T, dir string) {
	note := filepath.Join(t.TempDir(), "head.txt")
	if err := os.WriteFile(note, []byte(shared(t, "ledger", "checkpoint", dir).out), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, exit := audited(t, "--head", note, dir); exit != cli.ExitDone || r.Level != audit.Lodged || r.Ledger.Since != 0 {
		t.Errorf("exit code %d: %+v %+v", exit, r.Level, r.Ledger)
	}
	n, err := ledger.Latest(inDir(dir, crawldir.LedgerName))
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("%d:%X", n.Size, n.Root[:])
	if r, exit := audited(t, "--head", head, dir); exit != cli.ExitDone || r.Level != audit.Lodged || r.Ledger.Since != 0 {
		t.Errorf("exit code %d: %+v %+v", exit, r.Level, r.Ledger)
	}
	namedBy(t, finding.LedgerHead, "--head", fmt.Sprintf("%d:%s", n.Size, strings.Repeat("ab", 32)), dir)
	// The last exchange of a host that is taken out of both, by who can write a log anew, contradicts nothing but the lodged
	// head. (Of one before, the next says when it ended.)
	e := readEvidence(t, dir)
	last := 0
	for i, f := range e.records {
		if u := f.get("WARC-Target-URI"); f.get("WARC-Type") == "request" && strings.HasPrefix(u, "http://station.test/") {
			last = i
		}
	}
	page := slices.Clone(e.records[last : last+3])
	e.drop(page...)
	forged := e.write(t)
	e.again(t, forged, 0, func(l storage.Line) bool { return "<"+l.Record+">" == page[1].get("WARC-Record-ID") })
	if r, exit := audited(t, forged); exit != cli.ExitDone || r.Level != audit.SelfConsistent || r.Ledger.Records == 0 {
		t.Errorf("exit code %d: %+v %+v", exit, r.Ledger, r.Findings)
	}
	namedBy(t, finding.LedgerHead, "--head", head, forged)
	if r := shared(t, "audit", "--head", "abc", dir); r.code != cli.ExitUsage || !strings.Contains(r.err, "SIZE:HEX") {
		t.Errorf("%+v", r)
	}
}
