// Package forgery tests that the audit detects forged evidence. It consists of tests: a polite crawl is made once, in
// virtual time, and each row of testdata/forgeries.txt forges its evidence in one way. The audit must report the code that
// the row names. Where it cannot, the row says why nobody could.
//
// A forger here has all that the operator of a crawl has: the archive, whose digests and lengths are made to fit, and
// the ledger with its key, whose marks, map and checkpoints are remade. He lacks the evidence of third parties: the
// submitted head, and the sites' own access logs. If the ledger is left as it is, or repaired without being remade as a
// whole, the audit must find the forgery without other evidence.
//
// docs/reference/audit-forgeries.md shows the rows as a table, which
//
//	go test ./storage/audit/forgery -update
//
// writes.
package forgery
