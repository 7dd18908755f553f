package main

import (
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// lodgedHead: the head that curtsy itself prints is found, another is named, and lines behind it are counted.
func lodgedHead(t *testing.T, dir string) {
	head := strings.TrimSpace(shared("ledger", "head", dir).out)
	if r, exit := audited(t, "--head", strings.ToUpper(head), dir); exit != cli.ExitDone || r.Level != audit.LodgedHead || r.Ledger.Since != 0 {
		t.Errorf("exit code %d: %+v %+v", exit, r.Level, r.Ledger)
	}
	namedBy(t, finding.LedgerHead, "--head", strings.Repeat("ab", 32), dir)
	// The last exchange of a host that is taken out of both, by who can write a chain anew, contradicts nothing but the lodged
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
	if r := shared("audit", "--head", "abc", dir); r.code != cli.ExitUsage || !strings.Contains(r.err, "64 digits") {
		t.Errorf("%+v", r)
	}
}
