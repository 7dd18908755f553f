// Package engine opens a frontier by its locator.
//
// # The locator
//
// A locator says where a frontier is: a crawl directory, whose frontier is the file FileName in it, or such a file
// itself, as a snapshot is, or a frontier that is built beside another. Both are of the embedded engine, frontier/bolt.
//
// A locator with the scheme postgres:// is a frontier on a server, frontier/postgres, that several processes share: its
// members. Create makes it, Join adds a member. In the crawl directory of a member the file FileName is text that names
// the shared frontier, so that the directory is opened like any other.
//
// # The lock
//
// An open frontier is locked: one Open, or several OpenReadOnly, at a time. Its lock is that of the crawl directory:
// who changes archive, index or ledger of a stopped crawl holds its frontier meanwhile. frontier.ErrInUse says that
// somebody else does. Of a frontier on a server each member locks its own directory.
//
// # Maintenance
//
// Check, Compact, Import and Rebuild are about frontiers of the embedded engine that no crawl holds.
package engine
