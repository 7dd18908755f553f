// Package robots reads robots.txt as RFC 9309 says, judges request targets by it, and keeps track of an authority's
// policy from fetch to fetch. It does no I/O, has no clock, and imports the standard library alone; whoever fetches
// brings the octets and the time.
//
// # A policy
//
// Parse turns a body into a Policy for one product token. It goes through the text once and keeps only the rules that
// bind that token: those of all groups that name it, or else those of all groups of "*". A Policy is immutable.
//
// Match answers with a Verdict, which names the deciding line, so that anyone who has the file can check it. Rules and
// targets are compared in one canonical spelling (see canonicalTarget), which never changes which resource is meant.
// Plain rules are found by binary search and links from each rule to its longest proper prefix; rules with "*" or "$"
// are tried in the order of their rank, piece by piece from the left. Neither needs an allocation for a target that is
// canonical already, and the time is linear in the lengths of rules and target, whatever a host writes.
//
// # Where the RFC leaves a choice
//
//   - Reserved octets are never folded: "%2F" is not "/", in a query neither (Figure 4 has a row that says otherwise;
//     erratum 7128 is about it). Octets that may not stand in a URI equal their escapes; a "%" that begins no escape
//     equals "%25".
//   - The length of a rule is that of its canonical pattern, "*" and "$" counted.
//   - A user-agent value counts up to the first octet that cannot be in a token: "Name/2.1" is Name.
//   - An octet below space, other than a tab, makes a value invalid: the rule is none, the agent nobody. Octets that
//     are no UTF-8 are taken one by one (2.2.2 permits to bridge encodings).
//   - Any Allow or Disallow line ends the list of agents, even an unusable one; other records never do. A Crawl-delay
//     belongs to the agents that its group has named so far.
//   - Five misspellings of Disallow, and "useragent" and "user agent", are read; so is a line of exactly two words
//     without a colon.
//   - Only the URI /robots.txt itself is always allowed; with a query it is another one.
//
// # The life of a policy
//
// A State is what is known of an authority; Need says what must be done before a URL of it may be judged, and Next
// takes in what an exchange brought:
//
//	                  ┌── 2xx ──────────────▶ a body decides ── 24 h or less ──┐
//	nothing known ── fetch ── 4xx ──────────▶ all allowed    ── 24 h ──────────┼──▶ refresh past 90 %, fetch past expiry
//	       ▲          ├── 3xx ──▶ fetch the next hop, up to five               │
//	       │          └── else ─────────────▶ nothing allowed ── 1 min … 1 h ──┘
//	       └────────────── an answer from the future is no answer
//
// Invariants:
//
//   - Nothing is judged without an answer that is valid now. The zero State and the zero Need permit nothing.
//   - Unreachable means complete disallow, at once: 5xx, 429, 408, 425, an incomplete body, whatever is not a whole
//     answer. Only stated rules outlive a failure, and only until they expire. However long it lasts, an outage never
//     turns into permission.
//   - A body that was had stays known through an outage, so that a 304 can confirm it; an answer that there is none
//     forgets it. A validator is shown only to the URL that gave it.
//   - Each hop of a redirect is an exchange of its own, under the turn and pace of the authority that it leads to. The
//     rules at the end bind the authority that was asked first.
//   - Next is pure. Even the jitter of a retry follows from its arguments.
//   - An encoded State never exceeds MaxState octets.
//
// The package never fetches, sleeps, logs, or decides about a host's pace: CrawlDelay, RequestRate and the Retry-After
// in a State's retry time are what the site asks; what is kept is the crawler's matter.
package robots
