// Package changes compares two generations of a crawl: new, changed, moved and gone pages, with text differences.
//
// It reads the ledger in order of URLs, and compares the state of each URL after both generations. It reads bodies from the
// archive, or the originals of revisits, only for different payloads, and compares the texts of package storage/text line by
// line. A page with the same text has other markup; one with the same main text changed in menus, dates and notices.
//
// It sends no requests, and never writes to the crawl directory. Each URL counts once; those not listed, read or shown
// are counted by reason. Memory is bounded: lines are sorted on disk, and MaxListed and MaxDiffs bound the result.
package changes
