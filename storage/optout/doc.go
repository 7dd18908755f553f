// Package optout reads lists of hosts, addresses and paths that must not be crawled (politeness rule 16). A listed one gets
// no request at all, not even for robots.txt, and no other rule can allow it.
//
// A list is UTF-8 text, one entry on a line:
//
//	example.org                     that host, any scheme and port
//	example.org:8080                that host at one port
//	https://example.org             that host by one scheme, at its port
//	.example.org                    the domain and everything below it
//	192.0.2.7  2001:db8::7          an address
//	192.0.2.0/24  2001:db8::/32     all addresses of a network
//	example.org/private/            URLs of a host with that beginning of path and query; scheme and port as above
//	example.org/page$               the URL of a host with exactly that path and query
//
// An address counts in a URL, and before a connection to it by any name. Hosts are compared in the form of package
// canon, paths and queries by their keys, so other spellings are also covered. A path is not a pattern: "*" in it is an
// error, unless it ends in "$", when "*" is literal. A tab or "#" ends the entry; the rest is the reason. Empty lines
// and those that begin with "#" are comments. Anything else is an error: an invalid list is not obeyed in part.
//
// A Watch checks its files when used, at most every second. It refuses a new version with a mistake, and keeps the last
// good version of an invalid or missing file and reports that to the operator. All files bind together. It detects
// changes by size, modification time and identity, and reads a file modified within the last two seconds again, since its
// clock may be too coarse.
package optout
