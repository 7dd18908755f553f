// Package audit proves or refutes politeness from what a crawl left behind: WARC files, of this crawler or of any
// other. It takes nobody's word: it reads the archived robots.txt again, with package robots/naive, a second reading of
// RFC 9309 that shares no code with the crawler's, and recomputes every verdict, pause and digest from the records.
//
// # How it reads
//
// Files are read once, in the order given, record by record. Records are put together to exchanges: a request, its
// response or revisit, and the metadata about both. They belong together when one names the other in
// WARC-Concurrent-To, or else when they are neighbours with the same URI and date. What has not found its other half
// within a small window goes on alone.
//
// An exchange is judged by the state of its authority (scheme, host, port): which robots.txt is valid and since when,
// when the last exchange ended, until when the server asked for rest. That state is all that is kept, so memory grows
// with the number of hosts and not with the archive. The text of a robots.txt lies in a temporary file; what was
// parsed of it, in a cache of bounded size.
//
// # What is required
//
// Each check has a Code. What it requires is taken from the standards, and, for archives whose warcinfo says that they
// are ours, from this crawler's promises (docs/politeness.md), which are stricter. Settings are believed when they bind
// the crawl more, and tested when they bind it less: a host is the operator's own only when it is loopback, or when its
// proof stands in the archive.
//
// # What is a violation
//
// Dates have a resolution, and not every archive says when an exchange ended. A pause is a violation only when it is
// too short whatever the true instants were. Where it is not known to be long enough either, it is counted as
// unprovable, with the reason. Nothing is passed over silently: findings beyond a limit per code and host are counted.
//
// # What it cannot show
//
// Result.CannotShow says it in words with every result: a record that was never written, and a clock that was wrong,
// leave no trace in an archive alone.
package audit
