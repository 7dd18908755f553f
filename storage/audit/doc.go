// Package audit verifies the politeness of a crawl from its WARC files. It takes nobody's word: it reads the archived
// robots.txt again, with package robots/naive, a second reading of RFC 9309 that shares no code with the crawler's, and
// recomputes every verdict, pause and digest from the records.
//
// # How it judges
//
// Package evidence reads the files and joins their records to exchanges. Each exchange is held to the families of
// rules in their order (audit.go), by the state of its authority (scheme, host, port): which robots.txt is valid and
// since when (policy.go, over the texts of a Store), when the last exchange ended and until when the
// server asked for rest (package pacing). Its Measure says what binds an exchange. Judges report findings (package
// finding); Run alone counts them. Then the witnesses see the exchange: the ledger (reconcile), the access
// logs (accesslog), a WACZ file (bundle).
//
// That state is all that is kept, so memory grows with the number of hosts and not with the archive.
//
// # What is required
//
// Each check has a Code. Its requirement comes from the standards, and, for archives whose warcinfo says that they
// are ours, from this crawler's promises (docs/trust/politeness.md), which are stricter. Settings are believed when they
// bind the crawl more, and tested when they bind it less: a host is the operator's own only when it is loopback, or
// when its proof stands in the archive.
//
// # What is a violation
//
// Dates have a resolution, and not every archive says when an exchange ended. A pause is a violation only when it is
// too short whatever the true instants were. Where it is not known to be long enough either, it is counted as
// unprovable, with the reason. Nothing is passed over silently: findings beyond a limit per code and host are
// counted.
//
// # What it cannot show
//
// Result.CannotShow says it in words with every result: a record that was never written, and a clock that was wrong,
// leave no trace in an archive alone.
package audit
