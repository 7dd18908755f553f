// Package scope decides whether a URL belongs to the crawl. It decides by the candidate alone (the URL and how it was
// found), never by robots.txt, the frontier or the network.
//
// # Ordered rules
//
// A Scope is a list of rules, each with a stable name. A rule accepts a candidate, refuses it or has no opinion, and
// the first opinion decides; its name goes into the ledger. The table in rules.go is the whole order:
//
//	scope:exclude        a pattern of Exclude matches                                        refuse, timeless
//	scope:reject         an extension of Reject ends the path                                refuse, timeless
//	scope:sample         a seed that is not in the sample, if seeds are sampled              refuse
//	scope:seed           what the operator typed                                             accept
//	trap:segments …      the shape of a trap (politeness rule 22)                            refuse, timeless
//	scope:nofollow       a navigational link that asks not to be followed                    refuse
//	scope:sitemap        a sitemap, if they are read                                         accept; else refuse
//	scope:seed-redirect  where a seed redirects to                                           accept
//	scope:script         what a script names, and is not in the place                        refuse
//	scope:external       off the scope by its place, if that is asked for: a leaf             accept
//	scope:depth          deeper than Depth                                                   refuse
//	trap:depth           deeper than 20 links from a seed, with ModeAny                      refuse
//	scope:accept         an extension that Accept does not list                              refuse
//	scope:requisites     none: every requisite                                               refuse
//	                     all: requisites up to 3 steps off the scope; off it, no further     accept; refuse
//	scope:sample         hosts: a host that is not in the sample; pages: a link that is not  refuse
//	scope:include        no pattern of Include matches                                       refuse
//	scope:host …         the place: in scope by Mode, or not                                 accept or refuse
//
// So exclude and reject win over everything, seeds included; include, accept and depth only narrow; and a seed needs
// neither to match Include nor to avoid the traps, since it was typed and not found.
//
// # Timeless refusals
//
// A refusal is timeless when no later candidate with the same URL can be accepted, so that the URL may enter the
// seen-set and get one line of the ledger. That holds for exclude, reject and the shapes of traps. (Only a seed may
// have a trap's shape, and seeds are entered before anything is found. A URL here is a key: of two spellings of one
// key the first one found stands for both.) It does not hold for
//
//   - depth: another path to the URL may be shorter;
//   - nofollow: another link may not say so;
//   - place: a seed's redirect may extend the scope after the link was refused. Were the refusal entered, the pages
//     of the new host would be lost or not depending on which answer came first;
//   - include and accept: a seed may redirect to the URL;
//   - sample: of a sample of pages, what was found as a link may be found as an image, or be redirected to; of one of
//     hosts, it may be where a seed redirects to;
//   - requisites, and include and place where Requisites is all: what was found as a link may be found as an image.
//
// Those refusals are counted where they happen, and the URL is judged anew each time it is found.
//
// # Places
//
// Two URLs are of one host when host and port are the same, where "www." is ignored, and the default ports of http
// and https count as the same, as the schemes do. Any other port must match: http://localhost:8001 does not bring
// http://localhost:9000 into scope, which is another server. ModeDomain asks for the registrable domain alone, on any
// port. Paths of ModePrefix, and URLs of ModeSeeds, are compared as keys, patterns are matched against fetch URLs.
//
// # Leaves
//
// With External, what the last rule would refuse is in, and nothing that it names is looked at. A URL that was asked for as
// a leaf stays one, though a seed's redirect may extend the scope to its host later: it is closed by then.
//
// # Depth and requisites
//
// Depth counts links from a seed; requisites have the depth of their page. A page may embed a page that embeds a
// page, without end, so each requisite step in a row after the eighth counts as a link does: style sheets import one
// another five deep on sites that everybody knows.
//
// With Requisites all, a step of the row counts as one off the scope when it leads to what a link could not have
// brought (see Covers). Steps within the scope are free: a font that the site's own fourth style sheet takes from
// elsewhere is one step off. A redirect is no step, but one that leads off the scope begins it.
//
// # What the package never does
//
// It keeps no history: traps that need one belong to the host's own state. It does not read robots.txt and counts no
// budget. Judge allocates nothing, but for ModeDomain, where the public suffix list does, and for a Sample.
package scope
