package forgery

import (
	"curtsy/storage/audit"
)

// bread is the page that most rows forge.
const bread = "http://bakery.test/bread"

// archiveRows forge the archive and leave the ledger as it is.
var archiveRows = []row{
	{class: inArchive, name: "a page is taken out", found: audit.LedgerExtra, forge: func(e *evidence) { e.drop(e.of(bread).all()...) }},
}
