// Package canon parses URLs into canonical form, or returns the reason why it cannot. Only this package makes a URL, so
// a URL is always valid; no function above it takes a URL as a string.
//
// # Two spellings
//
// A URL holds two spellings:
//
//   - The fetch URL (String) is the site's spelling, read as a browser reads it: the URL Standard
//     (https://url.spec.whatwg.org/) without fragment and userinfo. Its path and query (RequestURI) are the bytes that
//     are sent, and that robots rules are matched against. They are not "improved": a server may treat %7E and ~
//     differently, a robots rule may name either, and a URL with its query sorted is another URL.
//   - The key (Key) is the URL's identity in the frontier, normalised as far as RFC 3986 6.2.2 allows for any server:
//     %xx in upper case, unreserved characters (2.3) decoded, an empty query dropped. It is loss-free: nothing is
//     removed that could name another resource (no default document, no slash, no parameter, no "www").
//
// Both are built in one pass and share memory when they are equal, as they nearly always are.
//
// # Canonical form
//
//   - scheme http or https, lower case;
//   - host a lower-case domain with IDNA A-labels (UTS #46, non-transitional), no trailing dot; or a dotted
//     decimal IPv4 address, whatever number form it was written in; or a compressed IPv6 address in brackets;
//   - port absent when it is the scheme's default, else decimal without leading zeros;
//   - path never empty, dot segments resolved (%2e counts as a dot), "\" read as "/";
//   - path and query encoded with the Standard's path and special-query percent-encode sets; an escape that is
//     there already is kept as written, also a broken one; "?" kept when the query is empty;
//   - at most MaxLength octets, all of them in 0x21–0x7E.
//
// # Invariants
//
//	Parse(u.String()) == u                       for every URL u
//	Parse(u.Key()).String() == u.Key()           the key is itself a fetch URL
//	Parse(u.Key()).Key() == u.Key()              and a fixed point
//	u.Resolve(v.String()) == v                   an absolute reference does not depend on its base
//	u.Authority().URL(u.RequestURI()) == u
//
// Decoding must not make an escape that was not there: in "%%34%31" the escapes %34 and %31 stay, since "%41"
// would be decoded again. Nor can it make a dot segment: the fetch URL has none left in either spelling.
//
// # Differences from the URL Standard
//
// Everything else is the Standard's basic URL parser (4.4) as it runs for http and https:
//
//  1. Other schemes are refused (reason Scheme), also where the Standard would find the rest malformed.
//  2. Fragment and userinfo are dropped. Neither is sent, and crawled credentials are not used.
//  3. The trailing dot of a domain is dropped (the Standard keeps it and calls the two hosts distinct): robots
//     policy, pace, the Host field and TLS server name must all mean the same host.
//  4. A domain that DNS cannot hold is refused (Malformed): an empty label, a label over 63 octets, a name over
//     MaxHost octets (RFC 1035 2.3.4).
//  5. Over MaxLength octets are refused (TooLong); so is input of more than four times that before its fragment,
//     without being read further.
//  6. Octets that are not UTF-8 are percent-encoded as they are. The Standard's input is text and cannot hold them.
//     They come in Location fields; U+FFFD in their place would be a URL the server never named.
//  7. The query of a page in a legacy encoding is encoded as UTF-8, as it is for a page in UTF-8: Parse
//     does not know the encoding.
//
// # Why it has its own parser
//
// The grammar for two schemes is small, and runs for every link of every page. Only hosts outside plain ASCII need
// x/net/idna. The WHATWG parser github.com/nlnwa/whatwg-url v0.6.2 is the oracle of the tests. It takes 6 to 25 times
// as long (BenchmarkParse, BenchmarkResolve), with 17 to 90 allocations where this package makes 0 to 3, and is
// quadratic in the number of "@" and of slashes. It also departs from the Standard: it leaves "^" in a path (in the
// path percent-encode set since 2025, whatwg/url pull request 846), reads the host "-256" as 255.255.255.0 and
// "[[::1]]" as [::1], refuses "_" beside a label that is not ASCII, looks into the A-labels of hosts in ASCII (not so
// since June 2026, pull request 914), and takes "ẞ" for "ss". The tests compare every URL with it, except for these
// six.
//
// net/url is not used either: url.URL.EscapedPath encodes the whole path again because of one character, so that
// /a%2fb" becomes /a/b%22, a path that robots.txt may judge otherwise.
//
// # Cost
//
// Parse makes two allocations (some ten where a name needs IDNA), the URL and its authority: an authority, which lives
// as long as the crawl, must not hold the first URL that named it. Resolve makes one when the authority is its base's,
// and none for a mere fragment. A key that differs from the fetch URL is one more. All functions are safe for
// concurrent use.
//
// # What the package never does
//
// It does no I/O and resolves no name. It does not decide whether a URL is wanted: that is scope. It does not sort
// or drop query parameters, strip slashes, or fold the case of a path.
package canon
