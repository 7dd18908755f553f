package forgery

import (
	"curtsy/storage/audit"
)

// bothRows forge archive and ledger so that they agree.
var bothRows = []row{
	{class: inBoth, name: "the last exchange of a host is taken out of both", found: audit.LedgerHead, with: lodged, forge: func(e *evidence) {
		all := e.exchanges("")
		x := all[len(all)-1]
		e.cut(e.lineOf(x))
		e.drop(x.all()...)
		e.resign()
	}},
}
