// Package naive is an independent, slow and simple implementation of RFC 9309 and its two predecessors. Tests, the
// audit and the referee use it as an oracle, so that one misunderstanding cannot hide in both the crawler and its
// judge.
//
// It keeps nothing but the rules of a Reading, which answers for one file and crawler. Each function can be checked by eye
// against the standard. The time of each is bounded by the product of the lengths of body and target: the files come from
// the web.
//
// Where the RFC leaves a choice it makes the same as package robots documents: reserved octets are left as they are;
// a user-agent value counts up to the first octet that cannot be in a product token; a line of exactly two words needs
// no colon; a value with a control octet is invalid; a Crawl-delay belongs to the agents that its group has named so
// far, the longest counts, and who is asked for none of his own gets that of "*".
//
// It makes the same choices in the older documents, too: a record without a rule is passed over, an empty rule has no
// effect, lines are read as leniently as under the RFC, and the query is compared as well.
package naive
