// Package forgery tests that the audit detects forged evidence. It consists of tests: a polite crawl is made once, in
// virtual time, and each row of a table forges its evidence in one way. The audit must name what the row says it names.
// Where it cannot, the row says why nobody could.
//
// A forger here has all that the operator of a crawl has: the archive, whose digests and lengths are made to fit, and
// the ledger with its key, whose marks, map and checkpoints are made anew. What he does not have is what others hold:
// the head that was lodged elsewhere, and the sites' own access logs. Where the ledger is left as it is, or mended
// without being made anew as a whole, the audit must find the forgery with nothing beside it.
//
// The rows stand in rows_*_test.go, by what is forged. docs/reference/audit-forgeries.md shows them as a table, which
//
//	go test ./storage/audit/forgery -update
//
// writes anew.
package forgery
