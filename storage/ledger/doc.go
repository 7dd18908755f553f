// Package ledger writes and reads the ledger of a crawl: one line for every decision on a URL, refusals included.
//
// # Files
//
// A ledger is a directory of segments NNNNNN.jsonl, from 000000.jsonl on, each of newline-delimited JSON in UTF-8.
// A line is one JSON object; lines stand in the order of Append, and none is ever changed. A segment is complete
// when the next one exists. While the crawl runs, the last one may end within a line: such a line is not there yet.
// Read passes over it, and Open cuts it off.
//
// # Schema, version 1
//
// The fields stand in this order. Those marked * are always there; each of the others is left out when it has nothing
// to say, which is when it would be 0 or "". Readers must expect further fields.
//
//	time          * string  when it was decided: RFC 3339, UTC, always six decimals
//	url           * string  the URL decided on
//	seed            string  the seed it descends from
//	tag             string  that seed's tag
//	decision      * string  which part of the story decided
//	reason          string  why, in that part's words
//	line            number  line of robots.txt that decided, from 1
//	rule            string  that line's rule, as written
//	robots_sha256   string  digest of that robots.txt, lower-case base16
//	standard        string  the robots standard it was read by
//	pace_ms         number  the pace that applied, milliseconds with up to three decimals; there whenever pace_by is
//	pace_by         string  who asked for it
//	gap_ms          number  from the end of the previous exchange with the authority to the start of this one, likewise
//	attempt         number  1 for the first exchange with the URL
//	outcome         string  what became of the URL, or "deferred"
//	status          number  HTTP status
//	record          string  id of the exchange's archived record, as in its WARC-Record-ID without angle brackets
//	list_sha256     string  digest of the opt-out list that decided; line and rule are then its line and entry
//	directives      string  what the answer asks of robots and we understood, comma-separated in this order: noindex,
//	                        nofollow, noarchive, unavailable_after: and its date as written, up to the end
//	asked           array   what it asks of robots as it was written, strings: "X-Robots-Tag: VALUE", "meta NAME: VALUE"
//	prefs           array   usage preferences that hold for the answer, strings: "SOURCE NAME: VALUE", see below
//
// The source of a preference is robots, for a record of the robots.txt in robots_sha256 (of the groups that bind, as far
// as records stand in groups), or header, for a field of the answer; the name is in lower case; the value stands as it
// was written. They are recorded and nothing is made of them: of records for parts of the host all are there. At most
// 16 of at most 256 octets each are kept, a value that was cut ends in "…", and a last "more: N" counts the rest.
//
// Durations are cut to the microsecond, never rounded up: no gap is overstated.
//
// Strings come from the web. What is no UTF-8 becomes U+FFFD (the octets themselves are in the archive), and what is
// not printable is escaped, so that a ledger can be shown in a terminal: control characters, line and paragraph
// separators, marks of writing direction.
//
// # Writing
//
// Append encodes into a buffer; Sync writes it and makes it durable. A kill loses at most the lines since the last
// Sync. The first failure of a write or a sync poisons the Writer: it cannot know what reached the disk, so it
// refuses everything after.
//
// # What the package never does
//
// It decides nothing, merges no lines, knows no frontier, and keeps no lock against a second Writer in the same
// directory: that is its user's part.
package ledger
