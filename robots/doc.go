// Package robots parses robots.txt (RFC 9309), matches request targets, and tracks the policy of an authority. It does
// no I/O, has no clock, and imports only the standard library; the caller supplies bytes and time.
//
// # A policy
//
// Parse turns a body into a Policy for one product token. It reads the text once and keeps only the rules that bind
// that token: those of all groups that name it, or else those of all groups of "*". A Policy is immutable. ParseAll
// keeps everything instead, and warns of lines whose effect their author may not expect.
//
// Match returns a Verdict, which names the deciding line, so that it can be checked against the file. Rules and targets
// are compared in one canonical spelling (see canonicalTarget), which never changes the resource that is meant. Plain
// rules are found by one search and links from each rule to its longest proper prefix; rules with "*" or "$" are tried
// in the order of their rank, piece by piece from the left. Neither allocates for a canonical target, and the time is
// linear in the lengths of rules and target.
//
// # Where the RFC leaves a choice
//
//   - Reserved octets are never folded: "%2F" is not "/", not even in a query (a row of Figure 4 differs; see erratum
//     7128). Octets that are not allowed in a URI equal their escapes; a "%" that begins no escape equals "%25".
//   - The length of a rule is that of its canonical pattern, "*" and "$" counted.
//   - A user-agent value counts up to the first octet that cannot be in a token: "Name/2.1" is Name.
//   - An octet below space, other than a tab, makes a value invalid: a rule matches nothing, an agent line names
//     nobody. Octets that are not UTF-8 are compared one by one (2.2.2 permits bridging encodings).
//   - A file in UTF-16 is decoded. It is recognised by its byte order mark, or by two ASCII characters at its start.
//     Most readers find no rules in it, and so allow all.
//   - The spaces of Unicode (category Zs) around a field or value count as white space.
//   - Any Allow or Disallow line ends the list of agents, even an unusable one; other records never do. A Crawl-delay
//     belongs to the agents that its group has named so far: a group with only a Crawl-delay merges with the next.
//   - Five misspellings of Disallow, and "useragent" and "user agent", are read; so is a line of exactly two words
//     without a colon.
//   - Only the URI /robots.txt itself is always allowed; with a query it is another one.
//
// # Three standards
//
// Two older documents are read in full: the draft of 1996 and the standard of 1994. They differ from RFC 9309, and
// from one another, in this:
//
//	             rfc9309                          draft1996                        std1994
//	who          all groups of the token, merged; the first record whose value     as draft1996
//	             else all of "*"                  contains it; else the first "*"
//	a blank line means nothing                    ends the record                  as draft1996
//	Allow        yes                              yes                              ignored
//	precedence   most octets; a tie allows        the first match in the file      any Disallow
//	"*" and "$"  special                          octets like others               octets like others
//	escapes      unreserved octets are decoded    all are decoded but that of "/"  octets as written
//	401 and 403  all is allowed                   nothing is                       all is allowed
//	redirects    5, then all is allowed           10, then unreachable             5, then unreachable
//	an empty file has no rules                    has no rules                     counts as missing
//	life         a day at most                    a week at most                   a day at most
//
// Where they leave a choice:
//
//   - Lines are read as under RFC 9309, with all its leniencies: these only add refusals. (5.2 of the draft asks
//     for robustness.)
//   - A record needs a rule that its standard knows; without one it is skipped, which never permits more.
//   - An empty value has no effect: as the only rule it allows all, and it lifts no other rule.
//   - The draft covers only the path. A rule with "?" is nevertheless compared with path and query; otherwise it would
//     match nothing.
//   - Crawl-delay and other records, which neither document defines, come from all records that name the crawler.
//   - The robots.txt itself is always allowed, although the 1994 document does not state it.
//
// # The life of a policy
//
// A State is the robots policy of an authority. Need returns what must be done before one of its URLs may be judged,
// and Next takes the result of an exchange:
//
//	                  ┌── 2xx ──────────────▶ a body decides ── 24 h or less ──┐
//	nothing known ── fetch ── 4xx ──────────▶ all allowed    ── 24 h ──────────┼──▶ refresh past 90 %, fetch past expiry
//	       ▲          ├── 3xx ──▶ fetch the next hop, up to five               │
//	       │          └── else ─────────────▶ nothing allowed ── 1 min … 1 h ──┘
//	       └────────────── an answer from the future is ignored
//
// Terms select the standard, and its liberties. The draft has one more answer: 401 and 403 restrict access, which
// forbids all for a week. Strict terms take the sterner of their own outcome and that of RFC 9309 with the defaults, so
// that an old standard can only add refusals; their Rulebook also judges by both.
//
// Invariants:
//
//   - Nothing is judged without an answer that is valid now. The zero State and the zero Need permit nothing.
//   - By the zero Terms and by strict ones, unreachable means complete disallow, at once: 5xx, 429, 408, 425, an
//     incomplete body, or any incomplete answer. Only stated rules outlive a failure, and only until they expire.
//     However long it lasts, an outage never turns into permission.
//   - A State keeps the last body through an outage, so that a 304 can confirm it, and forgets it when the server
//     reports that there is no robots.txt. A validator is sent only to the URL that gave it.
//   - Each hop of a redirect is a separate exchange, under the turn and pace of the authority that it leads to. The
//     rules at the end bind the first authority.
//   - Next is pure. Even the jitter of a retry follows from its arguments.
//   - An encoded State never exceeds MaxState octets.
//
// The package never fetches, sleeps, logs, or decides about a host's pace: CrawlDelay, RequestRate and the Retry-After
// in a State's retry time are requests of the site, which the crawler weighs.
package robots
