package wacz

import (
	"fmt"
	"path/filepath"
	"strings"

	"curtsy/storage/audit/finding"
)

// unreadable names a file of the archive that the audit cannot read: it may hold anything.
func (p *Package) unreadable(name string) {
	const asked = "only files in archive/ that the audit reads: *.warc and *.warc.gz"
	what := "what is in it is not audited"
	if strings.EqualFold(filepath.Ext(name), ".zst") {
		what += ": decompress it (zstd -d) and audit the .warc"
	}
	if p.ours {
		p.bad(name, asked, what)
		return
	}
	p.note(name, asked, what)
	p.says = append(p.says, "what stands in "+short(name)+": it is not read")
}

// unsigned names a package that its ledger's key did not sign. A crawl may be packed where that key is not.
func (p *Package) unsigned(keys []string) {
	p.found = append(p.found, finding.Finding{
		Code: finding.BadPackage, Note: true, Place: finding.Place{File: p.name + ":" + digestName},
		Required: "a signature of the package by a key that signs the ledger in it, which curtsy export --format wacz makes where " +
			"that key is (docs/reference/audit-findings.md)",
		Observed: fmt.Sprintf("key %s signed the ledger, and no such key the package: who has it can have changed "+
			"all but archive and ledger", named(keys...)),
	})
}
