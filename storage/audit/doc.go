// Package audit verifies the politeness of a crawl from its WARC files. It reads the archived robots.txt again with package
// robots/naive, an independent implementation of RFC 9309, and recomputes every verdict, delay and digest from the records.
//
// Package evidence reads the files and joins records to exchanges. Each exchange is checked by the families of rules in
// order (audit.go) against the state of its authority (scheme, host, port): its valid robots.txt (policy.go), the end of
// its last exchange and of the rest that the server required (package pacing). Then the witnesses see the exchange: the
// ledger (reconcile), access logs (accesslog), a WACZ file (bundle). Memory grows with the hosts, not with the archive.
//
// Each check has a Code. Its requirement comes from the standards, and for archives of this crawler also from its promises
// (docs/trust/politeness.md). Settings in the archive are believed if they bind the crawl more, and tested if they bind it
// less: a host is the operator's own only if it is loopback, or its proof is in the archive.
//
// Dates have a resolution, and not every archive records when exchanges ended: a delay is a violation only if it is too
// short whatever the true instants were. One not known to be long enough counts as unprovable, with the reason. Findings
// beyond a limit per code and host are counted. Result.CannotShow lists the limits of each result: a record that was never
// written, and a wrong clock, leave no trace in an archive.
package audit
