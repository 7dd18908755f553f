package forgery

import (
	"curtsy/storage/audit"
)

// ledgerRows forge the ledger and leave the archive as it is.
var ledgerRows = []row{
	{class: inLedger, name: "a line is edited, and the chain left", found: audit.LedgerChain, forge: func(e *evidence) {
		e.value(e.lineOf(e.of(bread)), "status", "201")
	}},
	{class: inLedger, name: "a status", found: audit.LedgerDiffers, forge: func(e *evidence) {
		e.value(e.lineOf(e.of(bread)), "status", "201")
		e.resign()
	}},
}
