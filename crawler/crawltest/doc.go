// Package crawltest serves a small web inside the process and judges the crawler that visits it. It is independent of
// that crawler: from this module it imports only robots/naive, the slack for delays, and the wording of numbers.
//
// A Web is made of Sites. Each has an authority, an address in 198.18.0.0/15 and pages that are data (see Entries for
// webs as text). Three ways lead to the same pages and the same log:
//
//   - Web.Resolve and Web.Dial are hooks for crawlers that accept them.
//   - Each site also listens on a port of 127.0.0.1, for other crawlers. Links, Location and robots.txt then name these
//     ports, so that the crawl stays inside the web.
//   - Web.StartPipe serves over net.Pipe. All waits are then durably blocking, so that a web and a crawl can run in a
//     testing/synctest bubble.
//
// A closed web refuses connections; its log can still be judged. Its goroutines have ended when Close returns.
//
// The Referee logs every request and judges, rule by rule, whether a crawl was polite and complete. Its clock never
// accuses wrongly: a request begins when its first byte has arrived, and an exchange ends just before the last bytes of
// the response are handed to the connection. A measured gap is therefore never shorter than the gap that the crawler
// kept. The robots.txt that counts is the one last served to the crawler, with redirects as in RFC 9309 2.3.1.2. A rule
// without evidence in the log is Unshown.
//
// A site that misbehaves answers with Raw bytes over the connection and carries an Expect: the visible behaviour of a
// correct crawler.
//
// The package uses no network beyond loopback and does not read HTML: a page with a Body declares the links in it.
package crawltest
