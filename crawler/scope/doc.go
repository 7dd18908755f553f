// Package scope decides whether a URL belongs to the crawl. It decides only by the candidate (the URL and how it was
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
//	scope:seed           typed by the operator                                               accept
//	trap:segments …      the shape of a trap (politeness rule 22)                            refuse, timeless
//	scope:nofollow       a navigational link that asks not to be followed                    refuse
//	scope:sitemap        a sitemap, if they are read                                         accept; else refuse
//	scope:seed-redirect  the target of a seed's redirect                                     accept
//	scope:script         named by a script, and not in the place                             refuse
//	scope:external       off the scope by its place, with External: a leaf                   accept
//	scope:depth          deeper than Depth                                                   refuse
//	trap:depth           deeper than 20 links from a seed, with ModeAny                      refuse
//	scope:accept         an extension that Accept does not list                              refuse
//	scope:requisites     none: every requisite                                               refuse
//	                     all: requisites up to 3 steps off the scope; off it, no further     accept; refuse
//	scope:sample         hosts: a host that is not in the sample; pages: a link that is not  refuse
//	scope:include        no pattern of Include matches                                       refuse
//	scope:host …         the place: in scope by Mode, or not                                 accept or refuse
//
// Exclude and reject win over everything, including seeds. Include, accept and depth only narrow. Include and traps do not apply
// to seeds.
//
// # Timeless refusals
//
// A refusal is timeless if no later candidate with the same key can be accepted, so that the URL may enter the seen-set and get
// one line: that of exclude, reject and the shapes of traps. Other refusals are counted, and the URL is judged again each time:
// another way may be shorter (depth), another link may be followed (nofollow), a seed's redirect may extend the scope or lead
// to the URL (place, include, accept, sample), and a link may be found again as an image (requisites, sample).
//
// # Places
//
// Two URLs are on one host if host and port are the same, without "www.", and with the default ports of http and https as one.
// Any other port is another server. ModeDomain compares registrable domains on any port. ModePrefix and ModeSeeds compare keys;
// patterns match fetch URLs.
//
// # Depth and requisites
//
// Depth counts links from a seed; requisites have the depth of their page. Pages may embed pages without end, so each requisite
// step in a row after the eighth counts as a link; style sheets of well-known sites import each other five deep.
//
// With Requisites all, a step counts as off the scope if a link could not lead there (Covers). Steps within the scope are free. A
// redirect is not a step, except one that leads off the scope.
//
// Judge does not allocate, except for ModeDomain (public suffix list) and for a Sample.
package scope
