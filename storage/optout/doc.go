// Package optout reads the lists of hosts that must not be crawled (politeness rule 16). A host, an address or a path
// on a list is asked for nothing at all, not even for robots.txt; no other rule is heard first, and none can allow it
// again.
//
// # Entries
//
// A list is a text in UTF-8, one entry on a line:
//
//	example.org                     that host, any scheme and port
//	example.org:8080                that host at one port
//	https://example.org             that host by one scheme, at its port
//	.example.org                    the domain and everything below it
//	192.0.2.7  2001:db8::7          an address
//	192.0.2.0/24  2001:db8::/32     all addresses of a network
//	example.org/private/            URLs of a host whose path and query begin so; scheme and port as above
//	example.org/page$               the URL of a host with that path and query alone, likewise
//
// An address counts when a URL spells it out, and when it is about to be dialled, whatever name led to it. Hosts are
// compared as package canon writes them, paths and queries by their keys: another spelling of what is listed is listed.
// A path is a beginning and no pattern: one with "*" is an error, for it would hold for next to nothing. With "$" at its
// end it is a whole one, in which "*" stands for itself.
//
// A tab or "#" ends the entry; what follows is the reason. Lines that are empty or begin with "#" say nothing. Anything
// else is an error that names its line: a list that is half understood is not obeyed.
//
// # Lists in force
//
// A Watch holds files, and looks at them at most every second, when somebody asks: a new version is in force from then
// on. A version that has a mistake is refused as a whole, and a file that vanishes takes nothing back: the last good
// version stays in force, and the operator is told. All files bind together.
//
// Whether a file has changed is seen by its size, its time of change and its identity. A file that had changed within
// two seconds before it was read is read again at the next look: its clock may be too coarse to show a second change.
//
// # What the package never does
//
// It asks nobody anything, resolves no name, and writes no list but for Append.
package optout
