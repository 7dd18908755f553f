// Package crawltest serves a small web inside the process, and checks the crawler that visits it. It is to crawlers
// what net/http/httptest is to handlers. It is independent of the crawler it judges: from this module it imports
// only robots/naive (the independent implementation of RFC 9309), the tolerance for delays, and the wording of numbers.
//
// # The web
//
// A Web is made of Sites. Each has an authority of its own (a readable name, perhaps a port), an address of its own in
// 198.18.0.0/15 and pages that are data: what is answered, how late, how often not at first, and which links a page
// holds. It is reached in three ways, which all lead to the same pages and the same log:
//
//   - Web.Resolve and Web.Dial are the two hooks of a crawler that has them: names lead to addresses, addresses to
//     listeners. This is how politeness per host and per address is tested without many machines.
//   - Each site also listens on a port of 127.0.0.1, for crawlers that know no hook. Asked under that name, a page's
//     links to other sites of the web lead to their ports on 127.0.0.1 likewise (also in Location and robots.txt), so
//     that such a crawl stays inside the web.
//   - Web.StartPipe serves over net.Pipe instead of sockets. All waits are then durably blocking, so that a web and a
//     crawl can run in a testing/synctest bubble, in virtual time.
//
// New ─ Start or StartPipe ─▶ serving ─ Close ─▶ closed. A closed web refuses connections; its log can still be judged.
// The goroutines belong to the Web and have ended when Close returns.
//
// # The referee
//
// The Referee logs every request and proves or refutes, rule by rule, that a crawl was polite and complete. Its
// readings off the servers' side are the whole evidence: it does not ask the crawler.
//
// Its clock never accuses wrongly. A request begins when its first byte has arrived, which is not before the crawler
// sent it. An exchange ends just before the last bytes of the answer are handed to the connection, which is not
// after the crawler could have read them. So a gap as measured is at least the gap that was kept, and no slack is
// needed; what escapes is a gap that is short by less than the transfer takes.
//
// The robots.txt that counts is the one last served to this crawler, redirects followed as RFC 9309 2.3.1.2 says,
// not the one that the site has now. The pages' own links say what should have been fetched: the referee
// walks them from the seeds.
//
// # What misbehaves
//
// A Page or a robots.txt can be answered by a Raw, over the connection itself: bytes that no server of HTTP would
// send, late, without end or cut off. Package hostile has sites of that kind, each ill in one way. Such a site carries
// an Expect, which says what a correct crawler does about it as far as a server can see that: how often it asks, how
// much it takes, what it leaves alone and what it fetches all the same. The referee judges each by a row of its own,
// after the rules that hold for all.
//
// A rule about which the log says nothing is Unshown, neither kept nor broken: a crawl that met no Crawl-delay has not
// shown that it keeps one.
//
// # Webs as text
//
// The sites of the demonstration, and those of the scoreboard, are text: see Entries.
//
// # What the package never does
//
// It reaches no network beyond loopback, needs neither privilege nor a further loopback address, and does not read
// HTML: a page with a body of its own declares the links in it.
package crawltest
